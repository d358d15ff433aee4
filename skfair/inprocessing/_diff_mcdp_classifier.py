"""A network trained for a small gap between the groups' scores at every threshold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags, check_array, check_random_state

from skfair._comparison import PlainComparison, compare_with_plain
from skfair._mitigation import FittedTable, Mitigator
from skfair._penalty._penalised_loss import check_penalised_loss
from skfair._penalty._smooth_gap import Objective
from skfair._training_rows import (
    TrainingRows,
    check_validation_fraction,
    hold_out,
    hold_out_if_possible,
)
from skfair._utils._validation import check_flag
from skfair.groups import Selector
from skfair.inprocessing._network import (
    initial_parameters,
    layer_sizes,
    predict_logits,
)
from skfair.inprocessing._training import check_training, train

_REMEDY = (
    "Choose a smaller strength, or more steps and larger mini-batches, with "
    "early_stopping=True if the training loss is far below that of new rows"
)


class DiffMCDPClassifier(
    Mitigator,
    ClassifierMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    r"""Neural network trained so that the groups' scores have similar distributions.

    It minimises the mean log-loss plus `strength` times the largest gap between the
    CDFs of the groups' scores, smoothed by sigmoids (DiffMCDP):

    .. math::
        \frac{1}{N} \sum_i \ell(p_i, y_i)
        + \lambda \max_{t, g, h} \left| F_g(t) - F_h(t) \right|

    Each step of Adam takes a mini-batch, finds the threshold of its largest gap, and
    follows the gradient at that threshold. It is compared with a plain network, trained
    on the log-loss alone, on held-out rows.

    With `control_features` the gap is the mean of the gaps within strata: departments,
    or the true labels.

    Groups are needed in `fit` only. A column of X that `sensitive_features` names is a
    feature as well, unless `drop_sensitive` is True: then predictions use the group.

    Parameters
    ----------
    hidden_layer_sizes : int or sequence of int, default=(256,)
        Number of rectified linear units in each hidden layer. ``()`` is a linear
        model, which needs more or larger steps than a network.
    strength : float, default=0.2
        Weight of the gap, at least 0; 0 trains on the log-loss alone. The
        :math:`\lambda` is `strength` times :math:`4 \pi (1 - \pi)`, with the share
        :math:`\pi` of rows of the second class: for rare positives the log-loss is
        small, and the same `strength` has about the same effect.
    temperature : float, default=50.0
        Steepness of the sigmoids, above 0. The larger it is, the closer the smoothed
        CDFs are to the true ones, and the fewer scores have a gradient.
    objective : {"mcdp", "dp", "abcc"}, default="mcdp"
        Which gap is penalised: the largest difference of the CDFs, the difference of
        the mean scores (DiffDP), or the area between the CDFs (DiffABCC). With more
        than two groups, it is the largest over pairs of groups.
    learning_rate_init : float, default=0.001
        Learning rate of the first step.
    learning_rate : {"constant", "step"}, default="constant"
        ``"step"`` divides the learning rate by ten after each third of the steps, as
        the paper does.
    batch_size : int, default=1024
        Number of rows in a mini-batch, at most all rows. Each group should have many
        rows in it, since the gap of few rows is mostly noise.
    max_iter : int, default=600
        Number of steps. Each takes one mini-batch, so this is not a number of epochs.
    dropout : float in [0, 1), default=0.0
        Share of the hidden units that are set to 0 in a step, drawn for each row.
    early_stopping : bool, default=False
        Whether to hold rows out and evaluate the penalised loss on them every 20 steps,
        to stop after 10 evaluations without a smaller one, and to keep the parameters
        with the smallest one.
    validation_fraction : float in (0, 1) or None, default=0.1
        Share of the rows that is held out, for the comparison with a plain network and
        for early stopping. With None nothing is compared and no plain network is
        trained, which halves the time; so it is with fewer than 200 rows.
    sensitive_features : str, int, list of str, list of int, or callable, default=None
        Column of X with the groups, several columns for their intersection, or a
        function of X that returns the groups. Groups given to `fit` take precedence. A
        column is also a feature, unless `drop_sensitive` is True.
    drop_sensitive : bool, default=False
        Whether the columns named by `sensitive_features` are dropped from the features.
        X may then lack them in prediction.
    control_features : str, int, list of str, list of int, or callable, default=None
        Column of X with the strata within which groups are compared, several columns
        for their intersection, or a function of X that returns the strata. Strata given
        to `fit` take precedence. None compares groups among all rows. A column stays a
        feature.
    random_state : int, RandomState instance or None, default=None
        Random numbers for the first parameters, the mini-batches, dropout and the rows
        held out.

    Attributes
    ----------
    strata_ : tuple of length n_strata
        Labels of the strata within which groups are compared; empty without
        `control_features`.
    classes_ : ndarray of shape (2,)
        Classes. Scores are probabilities of the second class.
    coefs_ : list of ndarray of shape (n_in, n_out)
        Coefficients of each layer.
    intercepts_ : list of ndarray of shape (n_out,)
        Intercepts of each layer.
    history_ : DataFrame of `n_iter_` rows
        Columns ``step``; the log-loss ``loss``, the ``gap`` and its ``threshold`` on
        the mini-batch before the step (gap and threshold are nan if no gap is
        penalised); ``penalised_loss``, the log-loss plus the L2 term plus
        :math:`\lambda` times the gap; and if `early_stopping` is True
        ``validation_penalised_loss``, the log-loss plus :math:`\lambda` times the gap
        on the rows held out.
    comparison_ : PlainComparison or None
        Average precision and MCDP(0) (within strata, if there are any) of this network
        and of the plain one on the rows held out: `average_precision`,
        `plain_average_precision`, `mcdp`, `plain_mcdp`, the standard errors of both
        differences, and `problems`, what is worse by more than noise; `to_frame` makes
        a table. None if nothing is compared: without rows held out, without groups,
        and with strength 0.
    loss_curve_ : list of length `n_iter_`
        The penalised loss of each mini-batch.
    n_iter_ : int
        Number of steps.
    groups_ : tuple of length n_groups
        Labels of the groups; empty if no groups are given.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if all are strings.

    See Also
    --------
    MCDPReweighter : Minimises the same loss with any classifier that takes weights.
    skfair.metrics.mcdp : The metric that becomes small.

    Notes
    -----
    Standardise the features. Half of the sum of all squared coefficients counts 0.0001
    in the loss. Parameters have the dtype of X: training in float32 takes
    half the time.

    Mini-batches have equally many rows of each group, as far as the group has them,
    since the gap of a group with few rows is mostly noise; in the log-loss rows are
    weighted to undo this. The defaults of `temperature` and `max_iter` were chosen on
    Adult and Bank Marketing: of the temperatures in the paper, 5, 10, 20 and 50, the
    largest gave the smallest MCDP(0) at equal average precision, and 100 was not
    better.

    References
    ----------
    .. [1] Jin, Li, Feng. "On the Maximal Local Disparity of Fairness-Aware
       Classifiers". ICML 2024. Algorithm 3, equation 5, appendix D.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.inprocessing import DiffMCDPClassifier
    >>> from skfair.metrics import mcdp
    >>> rng = np.random.default_rng(0)
    >>> sex = rng.integers(0, 2, 1000)
    >>> X = rng.normal(size=(1000, 2))
    >>> X[:, 1] += 1.5 * sex  # a proxy of sex
    >>> y = X.sum(axis=1) + rng.normal(size=1000) > 1
    >>> def gap(strength):
    ...     model = DiffMCDPClassifier(
    ...         strength=strength, max_iter=100, random_state=0
    ...     ).fit(X, y, sensitive_features=sex)
    ...     return mcdp(y, model.predict_proba(X)[:, 1], sensitive_features=sex)
    >>> gap(0) > 0.35, gap(0.5) < 0.15
    (True, True)

    Equal opportunity at every threshold is a small gap among the positives:

    >>> from skfair.groups import encode_groups
    >>> positives = encode_groups(np.where(y, "positive", None), missing="drop")
    >>> model = DiffMCDPClassifier(max_iter=20, random_state=0)
    >>> model = model.fit(X, y, sensitive_features=sex, control_features=positives)
    >>> model.strata_
    ('positive',)
    """

    history_ = FittedTable()

    def __init__(
        self,
        *,
        hidden_layer_sizes: int | Sequence[int] = (256,),
        strength: float = 0.2,
        temperature: float = 50.0,
        objective: Objective = "mcdp",
        learning_rate_init: float = 1e-3,
        learning_rate: Literal["constant", "step"] = "constant",
        batch_size: int = 1024,
        max_iter: int = 600,
        dropout: float = 0.0,
        early_stopping: bool = False,
        validation_fraction: float | None = 0.1,
        sensitive_features: Selector | None = None,
        drop_sensitive: bool = False,
        control_features: Selector | None = None,
        random_state: Any = None,
    ) -> None:
        self.hidden_layer_sizes = hidden_layer_sizes
        self.strength = strength
        self.temperature = temperature
        self.objective = objective
        self.learning_rate_init = learning_rate_init
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.dropout = dropout
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.sensitive_features = sensitive_features
        self.drop_sensitive = drop_sensitive
        self.control_features = control_features
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any = None,
        control_features: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Train the network.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training data: numbers, apart from columns that are dropped.
        y : array-like of shape (n_samples,)
            Class of each row, one of two.
        sensitive_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), or Groups, default=None
            Group of each row. It takes precedence over the parameter of the same name.
            Rows without a group in a `Groups` count in the log-loss only.
        control_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), or Groups, default=None
            Stratum of each row. The gap is then the mean of the gaps within strata, by
            the weight of their rows. It takes precedence over the parameter of the same
            name. The true label is a stratum, too; rows without a stratum in a `Groups`
            count in the log-loss only, see the example.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights of the rows in the log-loss and in the CDFs.

        Returns
        -------
        self : DiffMCDPClassifier

        Raises
        ------
        ValueError
            If y does not have two classes, if lengths differ, if fewer than two groups
            have weight (in every stratum), if a parameter is out of range, and if
            scores become NaN.

        Warns
        -----
        UserWarning
            If strata, or groups, cannot be compared and are left out of the gap. If no
            groups are given and `strength` is not 0: no gap is penalised. If rows
            cannot be held out, since a part would have a single class or group.
        MitigationWarning
            If the rows held out show no gain: MCDP(0) is not lower than that of the
            plain network by half a standard error of the difference.
        """
        layer_sizes(self.hidden_layer_sizes)
        check_flag("early_stopping", self.early_stopping)
        check_validation_fraction(self)
        check_training(self)
        loss = check_penalised_loss(self)
        rng = check_random_state(self.random_state)
        rows = self._prepare(X, y, sensitive_features, control_features, sample_weight)
        rows = replace(rows, X=self._features(rows.X))
        if rows.sample_weight is not None:  # only rows with weight, 1 in the mean
            rows = rows.take(np.flatnonzero(rows.weights))
            rows = replace(rows, sample_weight=rows.weights / rows.weights.mean())
        sizes = rows.X.shape[1], *layer_sizes(self.hidden_layer_sizes), 1
        first = initial_parameters(sizes, rows.X.dtype, rng)
        loss = loss.for_labels(rows.y, rows.weights)
        compares = bool(loss.strength and self.groups_)
        rows, held_out = self._hold_out(rows, compares, rng)
        watched = held_out if self.early_stopping else None
        parameters, self.history_ = train(
            [values.copy() for values in first], rows, watched, loss, self, rng
        )
        self.comparison_: PlainComparison | None = None
        if held_out is not None and compares:
            unpenalised = replace(loss, strength=0.0)
            plain, _ = train(first, rows, watched, unpenalised, self, rng)
            self.comparison_ = compare_with_plain(
                held_out,
                expit(predict_logits(held_out.X, plain)),
                expit(predict_logits(held_out.X, parameters)),
            )
            self.comparison_.warn(self, _REMEDY)
        self.coefs_, self.intercepts_ = parameters[::2], parameters[1::2]
        self.n_iter_ = len(self.history_)
        self.loss_curve_ = self.history_["penalised_loss"].tolist()
        return self

    def _hold_out(
        self, rows: TrainingRows, compares: bool, rng: np.random.RandomState
    ) -> tuple[TrainingRows, TrainingRows | None]:
        """Split rows into those to train on and those to hold out, if any are."""
        if self.validation_fraction is None:
            return rows, None
        parts = None
        if self.early_stopping:
            parts = hold_out(rows, self.validation_fraction, rng)
        elif compares:
            parts = hold_out_if_possible(rows, self.validation_fraction, rng)
        if parts is None:
            return rows, None
        train, held_out = parts
        return rows.take(train), rows.take(held_out)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Predict the log-odds of the second class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows to predict, with the same columns as in `fit`.

        Returns
        -------
        ndarray of shape (n_samples,)

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If called before `fit`.
        """
        X = self._check_predict_input(X, "coefs_")
        layers = zip(self.coefs_, self.intercepts_, strict=True)
        parameters = [values for layer in layers for values in layer]
        return predict_logits(self._features(X), parameters)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict the probability of each class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows to predict, with the same columns as in `fit`.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Probabilities in the order of `classes_`.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If called before `fit`.
        """
        scores = expit(self.decision_function(X))
        return np.column_stack([1 - scores, scores])

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the more probable class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows to predict, with the same columns as in `fit`.

        Returns
        -------
        ndarray of shape (n_samples,)

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If called before `fit`.
        """
        return self._second_class_where(self.decision_function(X) > 0)

    def _features(self, X: Any) -> Any:
        """Return features as numbers."""
        with self._tip_to_drop(X):
            return check_array(
                X,
                accept_sparse="csr",
                dtype=(np.float64, np.float32),
                estimator=self,
                input_name="X",
            )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags
