"""The objective of gradient boosting: log-loss plus a penalty on the groups' gap."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from skfair._mitigation import keep_comparable
from skfair._penalty import Objective, PenalisedLoss, check_penalised_loss
from skfair._utils._arrays import Floats, quotients
from skfair._utils._validation import check_weights
from skfair.groups import Groups, encode_groups, resolve_strata

#: The gradient of the penalty is computed for every tree of so many: it changes slowly.
_INTERVAL = 2
#: Least share of the latest of these gradients in their running mean.
_MIN_SHARE = 0.5
_MIN_HESSIAN = 1e-6


class MCDPObjective:
    """Objective for gradient boosting: log-loss plus a penalty on the groups' gap.

    A boosting library calls it once for each tree, with the labels and the log-odds
    predicted so far, and gets the gradient and the Hessian by row of

    .. math::
        \\sum_i w_i \\, \\ell(p_i, y_i)
        + \\lambda \\sum_i w_i \\, \\max_{t, g, h} \\left| F_g(t) - F_h(t) \\right|

    with smooth CDFs F of the groups' scores. `MCDPBoostingClassifier` does the rest: it
    starts from the base rate, estimates the probabilities of the groups, and turns
    log-odds into probabilities.

    Parameters
    ----------
    sensitive_features : array-like of shape (n_samples,) or (n_samples, n_columns)
        Group of each training row, in the order of the training data, or a `Groups`,
        whose rows without a group count in the log-loss only.
    strength : float, default=0.3
        Weight of the gap, at least 0. :math:`\\lambda` is `strength` times
        :math:`4 \\pi (1 - \\pi)`, with the share :math:`\\pi` of rows with label 1.
    temperature : float, default=50.0
        Steepness of the sigmoids that smooth the CDFs, above 0.
    objective : {"mcdp", "dp", "abcc"}, default="mcdp"
        Which gap is penalised: the largest difference of the CDFs, the difference of
        the mean scores, or the area between the CDFs. With more than two groups, it is
        the largest over pairs of groups.
    group_probabilities : array-like of shape (n_samples, n_groups), default=None
        Probability of each group given the features of a row, by a classifier that was
        not fitted to this row; columns follow the sorted order of the groups. Each row
        then counts in all groups, weighted by these probabilities. Without them, trees
        on a few thousand rows learn which training rows belong to which group, and
        close the gap on the training rows only. With `control_features` the shape may
        also be (n_samples, n_strata, n_groups): each row then counts in all strata and
        groups, weighted by the joint probabilities, whose sum is less than 1 if a row
        may be in none.
    control_features : array-like of shape (n_samples,) or (n_samples, n_columns), \
or Groups, default=None
        Stratum of each training row. The gap is then the mean of the gaps within
        strata, by weight; rows without a stratum in a `Groups` count in the log-loss
        only.

    See Also
    --------
    MCDPBoostingClassifier : Classifier that is fitted with this objective.

    Notes
    -----
    Let s be the gradient of the penalty in the log-odds of a row. Then the gradient is
    :math:`p - y + s` and the Hessian :math:`p (1 - p) + |s|`. For s a running mean over
    every second tree is used, so that signs that change from tree to tree cancel. The
    gap ``"mcdp"`` is measured on scores rescaled to the quartiles of uniform scores,
    since smooth CDFs of scores that crowd near 0 would hide it.

    Equal predictions for all rows mean that a fit begins: the running mean is then
    reset, and the penalty left out. Use one object for one set of rows.

    References
    ----------
    .. [1] Jin, Li, Feng. "On the Maximal Local Disparity of Fairness-Aware
       Classifiers". ICML 2024. Equation 5 is the penalised loss.

    Examples
    --------
    >>> import numpy as np
    >>> from lightgbm import LGBMClassifier
    >>> from skfair.inprocessing import MCDPObjective
    >>> rng = np.random.default_rng(0)
    >>> sex = rng.integers(0, 2, 1000)
    >>> X = rng.normal(size=(1000, 2)) + [0, 1] * sex[:, None]
    >>> y = X.sum(axis=1) + rng.normal(size=1000) > 1
    >>> objective = MCDPObjective(sex, strength=1.0)
    >>> model = LGBMClassifier(
    ...     n_estimators=10, objective=objective, n_jobs=1, verbose=-1
    ... )
    >>> model.fit(X, y).predict(X[:3], raw_score=True).shape  # log-odds
    (3,)
    """

    def __init__(
        self,
        sensitive_features: ArrayLike | None,
        *,
        strength: float = 0.3,
        temperature: float = 50.0,
        objective: Objective = "mcdp",
        group_probabilities: ArrayLike | None = None,
        control_features: ArrayLike | None = None,
    ) -> None:
        self.strength = strength
        self.temperature = temperature
        self.objective = objective
        self._loss = check_penalised_loss(strength, temperature, objective)
        groups = encode_groups(sensitive_features)
        strata = None
        if control_features is not None:
            strata = resolve_strata(control_features, n_samples=len(groups))
        groups, strata = keep_comparable(groups, strata)
        self._n_samples = len(groups)
        self._copies = _copy_by_stratum(groups, strata, group_probabilities)
        self._mean_gradient, self._n_trees = np.zeros(len(groups)), 0

    def __call__(
        self,
        y_true: ArrayLike,
        y_pred: ArrayLike,
        sample_weight: ArrayLike | None = None,
    ) -> tuple[Floats, Floats]:
        """Return the gradient and the Hessian, as scikit-learn's interfaces want them.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            Label of each row, 0 or 1.
        y_pred : array-like of shape (n_samples,)
            Log-odds of class 1.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights.

        Returns
        -------
        gradient, hessian : ndarray of shape (n_samples,)
            Derivatives of the penalised loss in the log-odds of each row.

        Raises
        ------
        ValueError
            If the rows are not as many as the groups.
        """
        y, log_odds = np.asarray(y_true, float), np.asarray(y_pred, float)
        n_samples = self._n_samples
        for name, values in (("y_true", y), ("y_pred", log_odds)):
            if values.shape != (n_samples,):
                raise ValueError(
                    f"{name} has the shape {values.shape}, expected ({n_samples},), a "
                    "number for each row of sensitive_features."
                )
        checked = check_weights(sample_weight, n_samples)
        weights = np.ones(n_samples) if checked is None else checked.astype(np.float64)
        p = expit(log_odds)
        loss = self._loss.scale_to_labels(y, weights)
        penalty = self._update_mean(loss, log_odds, weights)
        # Where the penalty dominates, no tree moves log-odds by more than its rate.
        hessian = p * (1 - p)
        hessian += np.abs(penalty)
        np.maximum(hessian, _MIN_HESSIAN, out=hessian)
        gradient = p - y
        gradient += penalty
        if checked is None:
            return gradient, hessian
        return weights * gradient, weights * hessian

    def for_train(self, y_pred: Floats, dataset: Any) -> tuple[Floats, Floats]:
        """Return the same for `lightgbm.train` and `xgboost.train`.

        Parameters
        ----------
        y_pred : ndarray of shape (n_samples,)
            Log-odds of class 1.
        dataset : lightgbm.Dataset or xgboost.DMatrix
            The training data, with labels and weights.

        Returns
        -------
        gradient, hessian : ndarray of shape (n_samples,)
        """
        weights = dataset.get_weight()
        empty = weights is None or len(weights) == 0
        return self(dataset.get_label(), y_pred, None if empty else weights)

    def _update_mean(
        self, loss: PenalisedLoss, log_odds: Floats, weights: Floats
    ) -> Floats:
        """Return the running mean of the gradients of the penalty."""
        if np.ptp(log_odds) == 0:  # a fit begins; equal scores have no gap
            self._mean_gradient, self._n_trees = np.zeros(len(log_odds)), 0
            return self._mean_gradient
        if self._loss.strength and self._n_trees % _INTERVAL == 0:
            # The first gradient has a share of 1.
            share = max(2 / (self._n_trees // _INTERVAL + 2), _MIN_SHARE)
            latest = self._penalty_gradient(loss, log_odds, weights)
            self._mean_gradient += share * (latest - self._mean_gradient)
        self._n_trees += 1
        return self._mean_gradient

    def _penalty_gradient(
        self, loss: PenalisedLoss, log_odds: Floats, weights: Floats
    ) -> Floats:
        """Return the gradient of the penalty in the log-odds, for a weight of one."""
        copies = self._copies
        positions, strata = copies.positions, copies.strata
        copy_weights = weights[positions] * copies.shares
        loss = loss.rescaled(log_odds[positions], copy_weights, strata)
        gap = loss.gap(log_odds[positions], copies.groups, copy_weights, strata)
        slopes: Floats = loss.strength * copy_weights.sum() * gap.gradient
        if isinstance(positions, slice):
            return slopes
        expected = np.bincount(positions, copies.shares * slopes, len(log_odds))
        return np.asarray(expected * (weights.sum() / copy_weights.sum()))


class _Copies(NamedTuple):
    """Rows, with a copy for each stratum that a row may be in.

    `positions` are the rows that the copies come from; a slice if each row has one
    copy. `strata` are the codes of the strata of the copies, and `shares` the
    probabilities that the rows are in these strata. `groups` are codes, or
    probabilities of the shape (n_groups, n_copies).
    """

    positions: Any
    shares: Floats | float
    strata: NDArray[np.integer] | None
    groups: NDArray[Any]


def _copy_by_stratum(
    groups: Groups, strata: Groups | None, probabilities: ArrayLike | None
) -> _Copies:
    """Return all rows once, or once for each stratum that the row may be in."""
    n_samples, n_groups = len(groups), len(groups.labels)
    codes = None if strata is None else strata.codes
    if probabilities is None:
        return _Copies(slice(None), 1.0, codes, groups.codes)
    values: Floats = np.asarray(probabilities, dtype=np.float64)
    if strata is None or values.ndim != 3:
        checked = _check_probabilities(values, (n_samples, n_groups))
        return _Copies(slice(None), 1.0, codes, checked.T.copy())
    n_strata = len(strata.labels)
    joint = _check_probabilities(values, (n_samples, n_strata, n_groups))
    shares = joint.sum(axis=2).T.ravel()
    positions = np.tile(np.arange(n_samples), n_strata)
    within = quotients(joint.transpose(2, 1, 0).reshape(n_groups, -1), shares)
    return _Copies(positions, shares, np.repeat(np.arange(n_strata), n_samples), within)


def _check_probabilities(values: Floats, shape: tuple[int, ...]) -> Floats:
    """Return the probabilities of the groups, one for each row and group.

    Joint probabilities of strata and groups may sum to less than 1.
    """
    if values.shape != shape:
        raise ValueError(
            f"group_probabilities has the shape {values.shape}, expected "
            f"{shape}, one for each row and group."
        )
    sums = values.reshape(len(values), -1).sum(axis=1)
    at_most = "at most " if len(shape) == 3 else ""
    too_small = not at_most and sums.min() < 1 - 1e-6
    if too_small or sums.max() > 1 + 1e-6 or not (values >= 0).all():
        raise ValueError(
            f"group_probabilities must be non-negative and sum to {at_most}1 in each "
            f"row, got sums from {sums.min()} to {sums.max()}."
        )
    return values
