"""A network trained for a small gap between the groups' scores at every threshold."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags, check_random_state

from skfair.groups import Selector
from skfair.inprocessing._network import Parameters, initial_parameters
from skfair.inprocessing._network_prediction import NetworkPrediction, parameters_of
from skfair.inprocessing._smooth_gap import Objective
from skfair.inprocessing._training import train
from skfair.inprocessing._training_parameters import check_parameters, layer_sizes
from skfair.inprocessing._training_rows import hold_out, training_rows


class DiffMCDPClassifier(
    NetworkPrediction,
    ClassifierMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    r"""Neural network whose scores do not tell the groups apart at any threshold.

    It minimises the mean log-loss plus `strength` times the largest gap between the
    CDFs of the groups' scores, their steps smoothed by sigmoids (DiffMCDP):

    .. math::
        \frac{1}{N} \sum_i \ell(p_i, y_i)
        + \lambda \max_{t, g, h} \left| F_g(t) - F_h(t) \right|

    Each step of Adam finds the threshold of the largest gap in a mini-batch, then
    descends with that threshold held fixed. Predictions need no group.

    Parameters
    ----------
    hidden_layer_sizes : int or sequence of int, default=(256,)
        Rectified units of each hidden layer. ``()`` is a linear model, which needs
        more or larger steps than a network.
    strength : float, default=0.2
        Weight :math:`\lambda \geq 0` of the gap. 0 trains on the log-loss alone.
    temperature : float, default=50.0
        Of the sigmoids, above 0. The larger, the closer to the true CDFs, and the
        fewer the scores that feel the penalty.
    objective : {"mcdp", "dp", "abcc"}, default="mcdp"
        The gap: the largest difference of the CDFs, the difference of the mean scores
        (DiffDP), or the area between the CDFs (DiffABCC). With more than two groups,
        the largest over pairs.
    alpha : float, default=0.0001
        Weight of the L2 term, half the sum of all squared coefficients.
    learning_rate_init : float, default=0.001
        Learning rate of the first step.
    learning_rate : {"constant", "step"}, default="constant"
        ``"step"`` divides it by ten after each third of the steps, the schedule of the
        paper.
    batch_size : int, default=1024
        Rows of a mini-batch; all rows if there are no more. It should leave many rows
        for each group: the fewer, the more of the gap is noise.
    max_iter : int, default=600
        Number of steps, one mini-batch each (not of epochs).
    dropout : float in [0, 1), default=0.0
        Share of hidden units that are left out of a step, drawn for each row.
    early_stopping : bool, default=False
        Hold rows out, look at their objective every 20 steps, stop after 10 looks
        without a better one, and keep the best parameters.
    validation_fraction : float in (0, 1), default=0.1
        Share of the rows held out, only with `early_stopping`.
    warm_start : bool, default=False
        Go on from the parameters of the last `fit`.
    random_state : int, RandomState instance or None, default=None
        Draws parameters, mini-batches, units that drop out and rows held out.
    sensitive_features : str, int, list of str, list of int, or callable, default=None
        Column of X that says the group in `fit`, several for their intersection, or a
        function of X. None leaves it to the keyword of `fit`, which always wins. The
        column is a feature too, unless `drop_sensitive`.
    drop_sensitive : bool, default=False
        Whether the network gets X without the columns named by `sensitive_features`.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        Class labels. Scores are probabilities of the second.
    coefs_ : list of ndarray of shape (n_in, n_out)
        Coefficients of each layer.
    intercepts_ : list of ndarray of shape (n_out,)
        Intercepts of each layer.
    history_ : DataFrame of n_iter_ rows
        ``step``, and of its mini-batch before it the log-loss ``loss``, the ``gap``,
        its ``threshold`` (both nan if not penalised) and the ``objective``; with
        `early_stopping` also ``validation_objective``.
    loss_curve_ : list of length n_iter_
        The objective of each mini-batch.
    n_iter_ : int
        Number of steps.
    groups_ : tuple of length n_groups
        Labels of the groups; empty without groups.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if all are strings.

    See Also
    --------
    MCDPReweighter : The same goal for any classifier that takes sample weights.
    skfair.metrics.mcdp : What it makes small.

    Notes
    -----
    Standardise the features. Parameters have the dtype of X: float32 takes half the
    time.

    Mini-batches hold the groups in equal numbers, as far as they have rows, and the
    log-loss weighs rows back, so that a small group's gap is not noise. The defaults of
    `temperature` and `max_iter` come from Adult and Bank Marketing: of the temperatures
    that the paper tries, 5, 10, 20 and 50, the largest gave the smallest MCDP(0) at
    equal average precision, and 100 no less.

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
    >>> sex = rng.integers(0, 2, 2000)
    >>> X = rng.normal(size=(2000, 2))
    >>> X[:, 1] += 1.5 * sex  # a proxy of sex
    >>> y = X.sum(axis=1) + rng.normal(size=2000) > 1
    >>> def gap(strength):
    ...     model = DiffMCDPClassifier(
    ...         strength=strength, max_iter=200, random_state=0
    ...     ).fit(X, y, sensitive_features=sex)
    ...     return mcdp(y, model.predict_proba(X)[:, 1], sensitive_features=sex)
    >>> gap(0) > 0.35, gap(0.5) < 0.15
    (True, True)
    """

    __metadata_request__fit: ClassVar = {"sensitive_features": True}

    groups_: tuple[Hashable, ...]
    history_: pd.DataFrame
    loss_curve_: list[float]
    n_iter_: int

    def __init__(
        self,
        *,
        hidden_layer_sizes: int | Sequence[int] = (256,),
        strength: float = 0.2,
        temperature: float = 50.0,
        objective: Objective = "mcdp",
        alpha: float = 1e-4,
        learning_rate_init: float = 1e-3,
        learning_rate: Literal["constant", "step"] = "constant",
        batch_size: int = 1024,
        max_iter: int = 600,
        dropout: float = 0.0,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        warm_start: bool = False,
        random_state: Any = None,
        sensitive_features: Selector | None = None,
        drop_sensitive: bool = False,
    ) -> None:
        self.hidden_layer_sizes = hidden_layer_sizes
        self.strength = strength
        self.temperature = temperature
        self.objective = objective
        self.alpha = alpha
        self.learning_rate_init = learning_rate_init
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.dropout = dropout
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.warm_start = warm_start
        self.random_state = random_state
        self.sensitive_features = sensitive_features
        self.drop_sensitive = drop_sensitive

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Train the network.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training data: numbers, apart from columns that are dropped.
        y : array-like of shape (n_samples,)
            Labels of two classes.
        sensitive_features : array-like of shape (n_samples,) or \
(n_samples, n_columns), or Groups, default=None
            Group of each row, which wins over the column that the parameter names.
            Rows that a `Groups` leaves out count in the log-loss only.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, in the log-loss and in the CDFs.

        Returns
        -------
        self : DiffMCDPClassifier

        Raises
        ------
        ValueError
            If y has other than two classes, on wrong lengths, on fewer than two groups
            with weight, parameters out of range, and scores that turn NaN.

        Warns
        -----
        UserWarning
            If there are no groups and `strength` is not 0: no gap is penalised.
        """
        penalty, schedule = check_parameters(self)
        rng = check_random_state(self.random_state)
        warm = bool(self.warm_start) and hasattr(self, "coefs_")
        X, y, classes, weights = self._check_fit_inputs(
            X, y, sample_weight, reset=not warm
        )
        features = self._features(X)
        consequence = "no gap is penalised" if self.strength else None
        groups = self._find_groups_if_given(sensitive_features, X, consequence)
        rows, labels = training_rows(features, y == classes[1], groups, weights)
        parameters = self._first_parameters(features, classes, warm, rng)
        held_out = None
        if self.early_stopping:
            rows, held_out = hold_out(rows, self.validation_fraction, rng)
        parameters, self.history_ = train(
            parameters, rows, held_out, penalty, schedule, rng
        )
        self.coefs_, self.intercepts_ = parameters[::2], parameters[1::2]
        self.classes_, self.groups_ = classes, labels
        self.n_iter_ = len(self.history_)
        self.loss_curve_ = self.history_["objective"].tolist()
        return self

    def _first_parameters(
        self, features: Any, classes: NDArray[Any], warm: bool, rng: Any
    ) -> Parameters:
        hidden = layer_sizes(self.hidden_layer_sizes)
        sizes = (features.shape[1], *hidden, 1)
        if not warm:
            return initial_parameters(sizes, features.dtype, rng)
        found = (*(len(coefs) for coefs in self.coefs_), 1)
        if sizes != found:
            raise ValueError(
                f"hidden_layer_sizes must be {found[1:-1]}, as in the fit that "
                f"warm_start goes on from, got {hidden}."
            )
        if not np.array_equal(classes, self.classes_):
            raise ValueError(
                f"y has the classes {classes.tolist()}, expected those of the fit that "
                f"warm_start goes on from, {self.classes_.tolist()}."
            )
        return [values.astype(features.dtype) for values in parameters_of(self)]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags
