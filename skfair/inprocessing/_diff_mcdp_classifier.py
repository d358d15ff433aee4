"""A neural network trained for a small gap between groups."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice, pairwise
from typing import Any, ClassVar, NamedTuple, Self, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags, check_array, check_random_state
from sklearn.utils.validation import validate_data

from skfair._comparison import Comparison, compare_classifiers, warn_of_comparison
from skfair._mitigation import (
    ROUTED,
    LinkedToSite,
    as_table,
    check_fit_inputs,
    check_validation_fraction,
    features_to_predict,
    hold_out_if_possible,
    tip_to_drop,
)
from skfair._penalty import (
    Objective,
    PenalisedLoss,
    SmoothGap,
    check_penalised_loss,
    mean_over_strata,
    smooth_gap,
)
from skfair._rows import Rows
from skfair._utils._arrays import Floats, Integers
from skfair._utils._progress import CallbackSupportMixin, Tasks, with_callbacks
from skfair._utils._validation import (
    check_flag,
    check_integer,
    check_real,
)
from skfair.groups import Selector
from skfair.model_selection._folds import hold_out

_REMEDY = (
    "Choose a smaller strength, or more steps and larger mini-batches, with "
    "early_stopping=True if the training loss is far below that of new rows"
)


class DiffMCDPClassifier(
    LinkedToSite,
    CallbackSupportMixin,  # type: ignore[misc]
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
    strength : float, default=0.2
        Weight of the gap, at least 0; 0 trains on the log-loss alone. The
        :math:`\lambda` is `strength` times :math:`4 \pi (1 - \pi)`, with the share
        :math:`\pi` of rows of the second class: for rare positives the log-loss is
        small, and the same `strength` has about the same effect.
    sensitive_features : str, int, list of str, list of int, or callable, default=None
        Column of X with the groups, several columns for their intersection, or a
        function of X that returns the groups. Groups given to `fit` take precedence. A
        column is also a feature, unless `drop_sensitive` is True. In a meta-estimator
        that leaves columns out, such as `BaggingClassifier`, a position names another
        column: route the groups there.
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
    hidden_layer_sizes : int or sequence of int, default=(256,)
        Number of rectified linear units in each hidden layer. ``()`` is a linear
        model, which needs more or larger steps than a network.
    max_iter : int, default=600
        Number of steps. Each takes one mini-batch, so this is not a number of epochs.
    batch_size : int, default=1024
        Number of rows in a mini-batch, at most all rows. Each group should have many
        rows in it, since the gap of few rows is mostly noise.
    learning_rate_init : float or sequence of float, default=0.001
        Learning rate. Several are used one after the other, each for the same number of
        steps, such as ``(1e-3, 1e-4, 1e-5)`` in the paper.
    dropout : float in [0, 1), default=0.0
        Share of the hidden units that are set to 0 in a step, drawn for each row.
    early_stopping : bool, default=False
        Whether to hold rows out and evaluate the penalised loss on them every 20 steps,
        to stop after 10 evaluations without a smaller one, and to keep the parameters
        with the smallest one.
    validation_fraction : float in (0, 1) or None, default=0.1
        Share of the rows that is held out for the comparison with a plain network; the
        same share of the other rows is held out for early stopping. With None, and with
        fewer than 200 rows, nothing is compared and no plain network is trained, which
        halves the time.
    temperature : float, default=50.0
        Steepness of the sigmoids, above 0. The larger it is, the closer the smoothed
        CDFs are to the true ones, and the fewer scores have a gradient.
    objective : {"mcdp", "dp", "abcc"}, default="mcdp"
        Which gap is penalised: the largest difference of the CDFs, the difference of
        the mean scores (DiffDP), or the area between the CDFs (DiffABCC). With more
        than two groups, it is the largest over pairs of groups.
    verbose : int, default=0
        Whether to print, on the standard error stream, which step is done.

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
    history_ : dict of ndarray of shape (`n_iter_`,)
        Columns ``step``; the log-loss ``loss``, the ``gap`` and its ``threshold`` on
        the mini-batch before the step (gap and threshold are nan if no gap is
        penalised); ``penalised_loss``, the log-loss plus the L2 term plus
        :math:`\lambda` times the gap; and if `early_stopping` is True
        ``validation_penalised_loss``, the log-loss plus :math:`\lambda` times the gap
        on the rows held out.
    comparison_ : Comparison or None
        Average precision and MCDP(0) (within strata, if there are any) of this network
        and of the plain one on the rows held out, with standard errors. None if nothing
        is compared: without rows held out, without groups, and with strength 0.
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
    MCDPReweighter : Trains any classifier that takes weights on fair scores.
    skfair.metrics.mcdp : The metric that becomes small.

    Notes
    -----
    Standardise the features. Half of the sum of all squared coefficients counts 0.0001
    in the loss. Parameters have the dtype of X: training in float32 takes
    half the time.

    Mini-batches have equally many rows of each group, as far as the group has them,
    since the gap of a group with few rows is mostly noise; weights undo this in the
    log-loss. The defaults of `temperature` and `max_iter` were chosen on Adult and Bank
    Marketing: of the temperatures in the paper, 5, 10, 20 and 50, the largest gave the
    smallest MCDP(0) at equal average precision, and 100 was not better.

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
    ...         strength=strength, max_iter=30, random_state=0
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

    __metadata_request__fit: ClassVar = ROUTED

    def __init__(
        self,
        *,
        strength: float = 0.2,
        sensitive_features: Selector | None = None,
        drop_sensitive: bool = False,
        control_features: Selector | None = None,
        random_state: int | np.random.RandomState | None = None,
        hidden_layer_sizes: int | Sequence[int] = (256,),
        max_iter: int = 600,
        batch_size: int = 1024,
        learning_rate_init: float | Sequence[float] = 1e-3,
        dropout: float = 0.0,
        early_stopping: bool = False,
        validation_fraction: float | None = 0.1,
        temperature: float = 50.0,
        objective: Objective = "mcdp",
        verbose: int = 0,
    ) -> None:
        self.strength = strength
        self.sensitive_features = sensitive_features
        self.drop_sensitive = drop_sensitive
        self.control_features = control_features
        self.random_state = random_state
        self.hidden_layer_sizes = hidden_layer_sizes
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.learning_rate_init = learning_rate_init
        self.dropout = dropout
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.temperature = temperature
        self.objective = objective
        self.verbose = verbose

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        *,
        sensitive_features: ArrayLike | None = None,
        control_features: ArrayLike | None = None,
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
        check_validation_fraction(self.validation_fraction, self.early_stopping)
        check_training(self)
        loss = check_penalised_loss(self.strength, self.temperature, self.objective)
        rng = check_random_state(self.random_state)
        X = as_table(X)
        validate_data(self, X, y, skip_check_array=True)
        inputs = check_fit_inputs(
            self,
            X,
            y,
            sensitive_features=sensitive_features,
            control_features=control_features,
            sample_weight=sample_weight,
            stratum_selector=self.control_features,
            warns_without_groups=self.strength != 0,
        )
        self.classes_, self.groups_ = inputs.classes, inputs.rows.labels
        self.strata_, self._dropped = inputs.strata, inputs.dropped
        features, rows = self._features(inputs.X), inputs.rows
        if rows.weight is not None:  # only rows with weight, 1 on average
            weighted = np.flatnonzero(rows.weight)
            features, rows = features[weighted], rows[weighted]
            rows = replace(rows, weight=rows.weights / rows.weights.mean())
        sizes = features.shape[1], *layer_sizes(self.hidden_layer_sizes), 1
        first = initial_parameters(sizes, features.dtype, rng)
        loss = loss.scale_to_labels(rows.y_true, rows.weights)
        compares = bool(loss.strength and self.groups_)
        parts = self._split(rows, compares, rng)
        train_on = features[parts.training], rows[parts.training]
        watched, held_out = None, parts.comparison
        if parts.stopping is not None:
            watched = features[parts.stopping], rows[parts.stopping]
        n_networks = 1 + (held_out is not None)
        tasks = Tasks(self)
        tasks.begin(n_networks * self.max_iter)
        parameters, self.history_ = train(
            [values.copy() for values in first],
            train_on=train_on,
            watched=watched,
            loss=loss,
            network=self,
            rng=rng,
            done=tasks.done,
        )
        self.comparison_: Comparison | None = None
        if held_out is not None:
            unpenalised = replace(loss, strength=0.0)
            plain, _ = train(
                first, train_on, watched, unpenalised, self, rng, tasks.done
            )
            self.comparison_ = compare_classifiers(
                rows[held_out],
                expit(predict_logits(features[held_out], plain)),
                expit(predict_logits(features[held_out], parameters)),
            )
            warn_of_comparison(self, self.comparison_, _REMEDY)
        self.coefs_, self.intercepts_ = parameters[::2], parameters[1::2]
        self.n_iter_ = len(self.history_["step"])
        self.loss_curve_ = self.history_["penalised_loss"].tolist()
        tasks.end()
        return self

    def _split(self, rows: Rows, compares: bool, rng: np.random.RandomState) -> Parts:
        """Draw rows to stop by and rows to compare on, from the rows with weight."""
        training, stopping, held_out = np.arange(len(rows)), None, None
        share = self.validation_fraction
        if compares and share is not None:
            parts = hold_out_if_possible(rows, share, rng)
            training, held_out = parts or (training, None)
        if self.early_stopping:
            assert share is not None
            parts = hold_out(rows[training], share, rng)
            training, stopping = training[parts[0]], training[parts[1]]
        return Parts(training, stopping, held_out)

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
        X = features_to_predict(self, X)
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
        second = self.decision_function(X) > 0
        return np.asarray(self.classes_[second.astype(np.intp)])

    def _features(self, X: Any) -> Any:
        """Return the features as an array of numbers."""
        with tip_to_drop(self, X):
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


class Parts(NamedTuple):
    """Positions of rows for three purposes: to train, to stop, and to compare.

    The comparison has rows of its own: rows that chose the step of training would
    flatter both networks.
    """

    training: Integers
    stopping: Integers | None
    comparison: Integers | None


#: Steps between two evaluations on the held-out rows, and the number of evaluations
#: without a smaller loss after which training stops.
_VALIDATION_INTERVAL = 20
_PATIENCE = 10
#: Weight of the L2 term, half the sum of all squared coefficients.
_DECAY = 1e-4


def check_training(network: DiffMCDPClassifier) -> None:
    """Raise unless the parameters of a classifier that concern its steps are valid."""
    check_integer("max_iter", network.max_iter, 1)
    check_integer("batch_size", network.batch_size, 1)
    for rate in np.atleast_1d(network.learning_rate_init):
        check_real("learning_rate_init", rate, 0, math.inf, closed="neither")
    check_real("dropout", network.dropout, 0, 1, closed="left")


def learning_rate_at(network: DiffMCDPClassifier, step: int) -> float:
    """Return the learning rate of a step; the first step is 0."""
    rates = np.atleast_1d(network.learning_rate_init)
    return float(rates[len(rates) * step // network.max_iter])


@np.errstate(over="ignore", invalid="ignore")  # _check_finite raises instead
def train(
    parameters: Parameters,
    train_on: tuple[Any, Rows],
    watched: tuple[Any, Rows] | None,
    loss: PenalisedLoss,
    network: DiffMCDPClassifier,
    rng: np.random.RandomState,
    done: Callable[[str], None] = lambda name: None,
) -> tuple[Parameters, dict[str, NDArray[Any]]]:
    """Return the trained parameters and a history, with one entry for each step.

    `train_on` and `watched` are pairs of features and rows. The parameters of the step
    with the smallest loss on the rows watched are returned; without such rows, those of
    the last step. The initial arrays change in place.
    """
    X, rows = train_on
    optimizer = Adam(parameters)
    steps: list[dict[str, float]] = []
    validation: dict[int, float] = {}
    best = parameters
    # Where a gap is penalised, mini-batches have equally many rows of each cell.
    cells = (
        rows.stratum_group_codes
        if loss.strength
        else np.zeros(len(rows), dtype=np.intp)
    )
    batches = mini_batches(cells, network.batch_size, rng)
    for step, (chosen, factors) in enumerate(islice(batches, network.max_iter), 1):
        record, gradients = batch_gradients(
            parameters, X[chosen], rows[chosen], factors, loss, network, rng
        )
        optimizer.step(gradients, learning_rate_at(network, step - 1))
        _check_finite(record["penalised_loss"], parameters, step, network)
        steps.append({"step": step, **record})
        done("step")
        if watched is None or step % _VALIDATION_INTERVAL:
            continue
        validation[step] = _validation_loss(parameters, *watched, loss)
        best_step = min(validation, key=validation.__getitem__)
        if best_step == step:
            best = [values.copy() for values in parameters]
        if step - best_step >= _PATIENCE * _VALIDATION_INTERVAL:
            break
    history = pd.DataFrame(steps)
    if validation:
        history["validation_penalised_loss"] = history["step"].map(validation)
    return best, {name: history[name].to_numpy() for name in history}


def batch_gradients(
    parameters: Parameters,
    X: Any,
    rows: Rows,
    factors: Floats,
    loss: PenalisedLoss,
    network: DiffMCDPClassifier,
    rng: np.random.RandomState | None = None,
) -> tuple[dict[str, float], Parameters]:
    """Return the losses of a mini-batch, and the gradient of the penalised loss.

    The gradient has the shapes of the parameters. Each row is weighted by its entry of
    `factors`, so that means over the batch estimate means over all rows.
    """
    activations = forward(X, parameters, network.dropout, rng)
    logits = activations[-1][:, 0].astype(np.float64)
    scores = expit(logits)
    shares = factors * rows.weights / len(factors)
    log_loss = float(shares @ log_losses(logits, rows.y_true))
    slopes = shares * (scores - rows.y_true)
    gap = _penalised_gap(scores, rows, loss)
    if gap is not None:
        slopes += loss.strength * gap.gradient * scores * (1 - scores)
    gradients = backward(activations, parameters, slopes, network.dropout)
    penalty = 0.0 if gap is None else loss.strength * gap.value
    decay = 0.0
    for coefs, gradient in zip(parameters[::2], gradients[::2], strict=True):
        gradient += _DECAY * coefs
        decay += _DECAY / 2 * float(np.vdot(coefs, coefs))
    record = {
        "loss": log_loss,
        "gap": np.nan if gap is None else gap.value,
        "threshold": np.nan if gap is None else gap.threshold,
        "penalised_loss": log_loss + decay + penalty,
    }
    return record, gradients


def _penalised_gap(scores: Floats, rows: Rows, loss: PenalisedLoss) -> SmoothGap | None:
    """Return the gap of the scores of some rows; None if no gap is penalised."""
    codes, weights = rows.groups.codes, rows.weights
    if not loss.strength or codes.max() < 0:
        return None

    def stratum_gap(positions: Any, stratum: int) -> SmoothGap:
        return smooth_gap(
            scores[positions],
            codes[positions],
            weights[positions],
            loss.temperature,
            loss.objective,
        )

    strata = None if rows.strata is None else rows.strata.codes
    return mean_over_strata(strata, weights, stratum_gap)


def _validation_loss(
    parameters: Parameters, X: Any, rows: Rows, loss: PenalisedLoss
) -> float:
    """Return the log-loss of held-out rows, plus the strength times their gap."""
    logits = predict_logits(X, parameters)
    log_loss = rows.weights @ log_losses(logits, rows.y_true) / rows.weights.sum()
    gap = _penalised_gap(expit(logits), rows, loss)
    return float(log_loss + (loss.strength * gap.value if gap else 0.0))


def _check_finite(
    penalised_loss: float,
    parameters: Parameters,
    step: int,
    network: DiffMCDPClassifier,
) -> None:
    """Raise if a step has made the loss or a parameter NaN or infinite."""
    if np.isfinite(penalised_loss) and all(np.isfinite(v).all() for v in parameters):
        return
    raise ValueError(
        f"Training stopped in step {step}, penalised loss {penalised_loss}: scores "
        "or parameters are NaN or infinite. If features have very large values, "
        "standardise X; otherwise choose a smaller learning rate, got "
        f"learning_rate_init={network.learning_rate_init!r}."
    )


def even_sizes(available: NDArray[np.intp], total: int) -> NDArray[np.intp]:
    """Divide a total number of rows among groups, as evenly as their sizes allow.

    Small groups get all their rows. The numbers of rows of all other groups differ by
    at most one.
    """
    sizes = np.zeros_like(available)
    remaining = total
    for n_done, group in enumerate(np.argsort(available, kind="stable")):
        share = remaining // (len(available) - n_done)
        sizes[group] = min(available[group], share)
        remaining -= sizes[group]
    return sizes


def mini_batches(
    cells: NDArray[np.integer], batch_size: int, rng: np.random.RandomState
) -> Iterator[tuple[Integers, Floats]]:
    """Yield mini-batches without end: positions of rows, and factors with mean 1.

    Each cell has the same number of rows in a batch, unless the cell itself has fewer.
    """
    # A gap estimated from few rows of a group is too large on average: a batch of 1,024
    # rows holds 26 of a group with 2.5 % of the rows, and two samples of these sizes
    # from one distribution have a gap of 0.17 on average. The factors undo the unequal
    # sampling: with them, means over a batch estimate means over all rows.
    n_samples = len(cells)
    if batch_size >= n_samples:
        full_sample = np.arange(n_samples), np.ones(n_samples)
        while True:
            yield full_sample
    distinct = np.unique(cells)
    if len(distinct) > batch_size:  # some cells would never be in a batch
        cells, distinct = np.zeros(n_samples, dtype=np.intp), distinct[:1] * 0
    members = [np.flatnonzero(cells == cell) for cell in distinct]
    available = np.array([len(rows) for rows in members])
    sizes = even_sizes(available, batch_size)
    draws = [_draws(rows, size, rng) for rows, size in zip(members, sizes, strict=True)]
    factors = np.repeat(available / n_samples * (batch_size / sizes), sizes)
    while True:
        yield np.concatenate([next(draw) for draw in draws]), factors


def _draws(rows: Integers, size: int, rng: np.random.RandomState) -> Iterator[Integers]:
    """Yield `size` rows at a time in random order; after all rows, shuffle again."""
    while True:
        shuffled = rng.permutation(rows)
        for start in range(0, len(rows) - size + 1, size):
            yield shuffled[start : start + size]


#: Coefficients (n_in, n_out) and intercepts (n_out,) of each layer in turn.
Parameters: TypeAlias = list[Floats]

#: Adam's decay rates of both moments, and the term that keeps its denominator above 0
#: (Kingma and Ba 2015).
_DECAYS = (0.9, 0.999)
_EPSILON = 1e-8


def layer_sizes(hidden_layer_sizes: Any) -> tuple[int, ...]:
    """Return the number of units in each hidden layer."""
    if not isinstance(hidden_layer_sizes, Iterable):
        hidden_layer_sizes = (hidden_layer_sizes,)
    return tuple(
        check_integer("hidden_layer_sizes", units, 1) for units in hidden_layer_sizes
    )


def initial_parameters(
    sizes: Sequence[int], dtype: Any, rng: np.random.RandomState
) -> Parameters:
    """Draw coefficients and intercepts as `MLPClassifier` of scikit-learn does."""
    parameters: Parameters = []
    for n_in, n_out in pairwise(sizes):
        bound = np.sqrt(6 / (n_in + n_out))
        parameters.append(rng.uniform(-bound, bound, (n_in, n_out)).astype(dtype))
        parameters.append(rng.uniform(-bound, bound, n_out).astype(dtype))
    return parameters


def forward(
    X: Any,
    parameters: Parameters,
    dropout: float = 0.0,
    rng: np.random.RandomState | None = None,
) -> list[Any]:
    """Return the activations of all layers, the input first and the logits last."""
    activations = [X]
    for layer in range(0, len(parameters), 2):
        units = activations[-1] @ parameters[layer]
        units += parameters[layer + 1]
        if layer < len(parameters) - 2:
            np.maximum(units, 0, out=units)
            if dropout and rng is not None:
                active = rng.random_sample(units.shape) >= dropout
                units *= active.astype(units.dtype) / units.dtype.type(1 - dropout)
        activations.append(units)
    return activations


def backward(
    activations: list[Any], parameters: Parameters, slopes: Floats, dropout: float = 0.0
) -> Parameters:
    """Return the gradient of a loss, given the derivatives in the logits (`slopes`)."""
    gradients: Parameters = [np.empty(0)] * len(parameters)
    delta = slopes.astype(parameters[0].dtype)[:, None]
    for layer in range(len(parameters) - 2, -1, -2):
        units = activations[layer // 2]
        gradients[layer] = np.asarray(units.T @ delta)
        gradients[layer + 1] = delta.sum(axis=0)
        if layer:
            delta = delta @ parameters[layer].T
            delta *= units > 0
            if dropout:
                delta /= delta.dtype.type(1 - dropout)
    return gradients


def log_losses(logits: Floats, y: NDArray[Any]) -> Floats:
    """Return the log-loss of each row, for labels 0 and 1."""
    return np.logaddexp(0, logits) - y * logits


def predict_logits(X: Any, parameters: Parameters) -> NDArray[np.float64]:
    """Return the logit of each row, without dropout."""
    return np.asarray(forward(X, parameters)[-1][:, 0], dtype=np.float64)


class Adam:
    """Adaptive moment estimation, which changes parameters in place."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self.n_steps = 0
        self.means = [np.zeros_like(values) for values in parameters]
        self.squares = [np.zeros_like(values) for values in parameters]

    def step(self, gradients: Parameters, learning_rate: float) -> None:
        """Change the parameters by one step."""
        self.n_steps += 1
        first, second = _DECAYS
        correction = np.sqrt(1 - second**self.n_steps) / (1 - first**self.n_steps)
        rate = learning_rate * correction
        for values, gradient, mean, square in zip(
            self.parameters, gradients, self.means, self.squares, strict=True
        ):
            mean += (1 - first) * (gradient - mean)
            square += (1 - second) * (gradient**2 - square)
            values -= (rate * mean / (np.sqrt(square) + _EPSILON)).astype(values.dtype)
