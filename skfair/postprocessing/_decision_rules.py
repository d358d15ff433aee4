"""Rules of decisions with similar rates, or similar errors, in all groups."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import make_interp_spline
from scipy.optimize import minimize
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression

from skfair._comparison import Comparison
from skfair._rows import Rows
from skfair._utils._arrays import Floats, Integers, quotients
from skfair.metrics import dcp
from skfair.model_selection._folds import assign_folds

Constraint = Literal["demographic_parity", "true_positive_rate", "equalized_odds"]

#: Limits that are solved for, as shares of the difference of the plain decisions.
_SHARES = (1.0, 0.7, 0.4, 0.2, 0.08, 0.02)
#: Places of the rules: three steps from one of these limits to the next.
_STEPS = np.linspace(0, 1, 3 * len(_SHARES) - 2)
#: Widths by which the largest score is smoothed, one after the other. The last width is
#: enough where the solution for another limit is the start.
_WIDTHS = (0.05, 0.01)
#: A limit of 0 would leave multipliers without a bound.
_LEAST_LIMIT = 1e-4
#: Each pair of groups is compared, or with more groups each with everyone.
_MOST_GROUPS_IN_PAIRS = 20
#: Correcting errors of more rates than this fits noise.
_MOST_CORRECTED = 8
#: Decimals of a row's probabilities from this one on decide how ties are broken.
_FIRST_DECIMAL = 1e4
#: Logistic regressions of so many coefficients take a solver without their Hessian.
_MANY_COEFFICIENTS = 200
#: A group of fewer rows for each coefficient keeps its probabilities of classes.
_ROWS_BY_COEFFICIENT = 20
#: Probabilities below this count as this in logarithms.
_LEAST_PROBABILITY = 1e-6
#: Groups of no more rows, or of a class whose errors are compared, are left out.
FEW_HELD_OUT_ROWS = 30
#: The number of a fold that stands for all rows.
FINAL_MODEL = -1
#: Noise that multipliers are fitted to is told by leaving out each of so many parts.
_N_PARTS = 5
#: A rule is chosen if its difference is below the limit by so many standard errors.
_N_ERRORS_CHOSEN = 1.0
#: There is a warning unless it is below by so many.
_N_ERRORS_SHOWN = 0.2
#: Level of the test of the plain difference.
_LEVEL = 0.05
#: Simulated errors of the rates, of the same numbers in each fit.
_N_DRAWS = 300


class _SolvedRules(NamedTuple):
    """The numbers that apply rules, from the largest limit to the smallest.

    `calibrations` has a model for each set of rows, or with `uses_group` for each
    group. `shares` has the share of the rows in each cell (a group in a set of rows),
    and `multipliers` the shape (n_rules, n_cells, n_classes).
    """

    calibrations: dict[int, Any]
    shares: Floats
    multipliers: Floats


class _RuleScores(NamedTuple):
    """Scores of classes, (n_samples, n_classes), and ratios by which rules change them.

    `plain` are the scores without a rule. A rule subtracts from the `values` the
    `ratios` times its multipliers. The ratios are a row's probabilities of cells over
    the shares of the cells.
    """

    plain: Floats
    values: Floats
    ratios: Floats

    def adjust(self, multipliers: Floats) -> Floats:
        """Return the scores by a rule; rows that are in no cell keep plain scores."""
        counted = self.ratios.any(axis=1, keepdims=True)
        return np.where(counted, self.values - self.ratios @ multipliers, self.plain)


class MeasuredDifference(NamedTuple):
    """The largest difference between two groups to expect in new rows.

    `error` is its standard error.
    """

    value: float
    error: float


class DecisionRules:
    """Decision rules, from the plain rule to the fairest.

    `decisions_compared` says which decisions (columns) are compared in each set of
    rows. `fit` sets the other attributes: `groups_compared` says which groups are
    compared; `decisions` has the decision of each rule, the plain rule first, for each
    of the held-out `rows` (rules by rows); `table` measures the rules. The cost is an
    array of classes by decisions. The predictions of rows are the probabilities of
    classes, and if rules do not use the group, the probabilities of groups.
    """

    rows: Rows
    groups_compared: NDArray[np.bool_]
    decisions: Integers
    table: dict[str, Any]
    _solved: _SolvedRules
    _beyond_noise: bool

    def __init__(
        self,
        constraint: Constraint,
        cost: Any,
        uses_group: bool,
        shape: tuple[int, int],
    ) -> None:
        n_groups, self.n_classes = shape
        self.constraint, self.uses_group = constraint, uses_group
        self.performance = "accuracy" if cost is None else "neg_cost"
        costs = _read_cost(cost, self.n_classes)
        self._unit = float(np.ptp(costs)) or 1.0
        self._cost = costs / self._unit
        self.decisions_compared = _decisions_compared(constraint, self.n_classes)
        self.shape = n_groups, len(self.decisions_compared)

    def has_few_rows(self, counts: Floats) -> NDArray[np.bool_]:
        """Return which groups have too few rows, by group and set of rows.

        `counts` are the effective numbers of held-out rows.
        """
        any_decision = self.decisions_compared.any(axis=1)
        return np.asarray((counts <= FEW_HELD_OUT_ROWS) & any_decision)

    def groups_to_compare(self, counts: Floats) -> NDArray[np.bool_]:
        """Return which groups are compared, by group and set of rows.

        A set of rows needs two groups with enough rows.
        """
        compared = ~self.has_few_rows(counts) & self.decisions_compared.any(axis=1)
        return np.asarray(compared & (compared.sum(axis=0) > 1))

    def baseline_scores(self, p: Floats) -> Floats:
        """Return one minus the expected cost of each decision."""
        return np.asarray(1 - p @ self._cost)

    def cells_of(self, rows: Rows) -> Integers:
        """Return the cell of each row: one number for its group and its set of rows."""
        conditions = rows.y_true * (len(self.decisions_compared) > 1)
        codes = rows.groups.codes.astype(np.intp)
        return np.asarray(np.ravel_multi_index((codes, conditions), self.shape))

    def effective_rows(self, rows: Rows) -> Floats:
        """Return the effective number of rows of each group in each set of rows."""
        cells, weights = self.cells_of(rows), rows.weights
        totals, squares = (
            np.bincount(cells, values, math.prod(self.shape))
            for values in (weights, weights**2)
        )
        return quotients(totals**2, squares).reshape(self.shape)

    def _rates(self, rows: Rows, decisions: Integers) -> Floats:
        """Return the share of each decision among the rows of a cell, for each rule."""
        cells = self.n_classes * self.cells_of(rows)
        shape = *self.shape, self.n_classes
        sums = np.array(
            [
                np.bincount(cells + by_rule, rows.weights, math.prod(shape))
                for by_rule in decisions
            ]
        ).reshape(-1, *shape)
        return quotients(sums, sums.sum(axis=-1, keepdims=True))

    def fit(
        self,
        rows: Rows,
        groups_compared: NDArray[np.bool_],
        predict_training_rows: Callable[[int], Rows],
    ) -> Self:
        """Solve for limits from the plain difference down to 0, and measure each rule.

        `rows` were held out, by the model of their `fold`. `predict_training_rows`
        returns the rows that the model of a fold was fitted to, as the model predicts
        them, and for `FINAL_MODEL` the rows of the model that predicts.
        """
        self.rows, self.groups_compared = rows, groups_compared
        p = rows.y_pred[:, : self.n_classes]
        self.decisions = (-p @ self._cost).argmax(axis=1)[np.newaxis]
        units = quotients(1, self.effective_rows(rows), 1.0)[:, :, np.newaxis]
        noise = _RateNoise(
            groups_compared[:, :, np.newaxis] & self.decisions_compared, units
        )
        rates = self._rates(rows, self.decisions)
        gains = self._gains(rows, self.decisions)
        limits, by_rule = np.ones(1), list[MeasuredDifference]()
        if groups_compared.any():
            solved_limits = np.multiply(_SHARES, noise.largest(rates[0]))
            solved_limits = np.maximum(solved_limits, _LEAST_LIMIT)
            places = np.linspace(0, 1, len(solved_limits))
            # No difference is above 1, the limit of the plain decisions.
            limits = np.append(limits, np.interp(_STEPS, places, solved_limits))
            self._solved = self._fit_rules(rows, solved_limits)
            self.decisions = self._decide(self._solved, rows)
            rates, gains = self._rates_and_gains(predict_training_rows)
            refitted = self._rates_without_parts(solved_limits)
            by_rule = noise.measure_rules(rates[1:], *refitted)
        any_compared = bool(groups_compared.any())
        self._beyond_noise = any_compared and noise.is_exceeded(rates[0])
        measured = [noise.measure(rates[0]), *by_rule]
        differences, errors = np.transpose(measured)
        self.table = {
            "params": [{"limit": limit} for limit in limits.tolist()],
            "limit": limits,
            f"mean_test_{self.performance}": gains,
            "mean_test_neg_difference": -differences,
            "difference_error": errors,
        }
        return self

    def _rates_and_gains(
        self, predict_training_rows: Callable[[int], Rows]
    ) -> tuple[Floats, Floats]:
        """Return rates and gains of the plain decisions and of each rule.

        They are measured on held-out rows, by the models of the folds. To them is added
        how rates and gains change when the final model replaces the model of a fold, on
        the rows that both were fitted to: where rows share scores, the final model may
        decide alike for all of them, as no model of a fold does.
        """
        rows, final = self.rows, predict_training_rows(FINAL_MODEL)
        rates = self._rates(rows, self.decisions)
        gains = self._gains(rows, self.decisions)
        decisions = np.empty((len(rates), int(final.position.max()) + 1), dtype=np.intp)
        decisions[:, final.position] = self._decide(self._solved, final)
        weights = self._cell_weights(rows)
        for fold in np.unique(rows.fold).tolist():
            training = predict_training_rows(fold)
            before = self._decide(self._solved, training)
            after = decisions[:, training.position]
            fold_weights = self._cell_weights(rows[rows.fold == fold])
            change = self._rates(training, after) - self._rates(training, before)
            rates += fold_weights / weights * change
            change = self._gains(training, after) - self._gains(training, before)
            gains += fold_weights.sum() / weights.sum() * change
        return np.clip(rates, 0, 1), gains

    def _rates_without_parts(self, limits: Floats) -> tuple[Floats, Floats]:
        """Return rates of the rules that are fitted without one part of the rows.

        There is one fit for each part. The first array has the rates on all rows, the
        second the rates on the rows of the fit, both of shape (n_parts, n_rules, *shape
        of rates).
        """
        rows, all_rates, training_rates = self.rows, [], []
        parts = assign_folds(rows.y_true, rows.groups.codes, _N_PARTS, None)
        for part in range(_N_PARTS):
            training = parts != part
            rules = self._fit_rules(rows[training], limits)
            decisions = self._decide(rules, rows)[1:]
            all_rates.append(self._rates(rows, decisions))
            training_rates.append(self._rates(rows[training], decisions[:, training]))
        return np.array(all_rates), np.array(training_rates)

    def _cell_weights(self, rows: Rows) -> Floats:
        """Return the weight of each cell, at least the smallest positive number."""
        weights = np.bincount(self.cells_of(rows), rows.weights, math.prod(self.shape))
        return np.maximum(weights, np.finfo(float).tiny).reshape(*self.shape, 1)

    def _fit_rules(self, rows: Rows, limits: Floats) -> _SolvedRules:
        """Calibrate, solve for each limit, and interpolate multipliers in between."""
        calibrations = self._calibrate(rows)
        values, membership = self._values_and_membership(
            calibrations, rows.y_pred, rows.groups.codes
        )
        membership *= self.groups_compared.ravel()
        shares = (rows.weights / rows.weights.sum()) @ membership
        ratios = quotients(membership, shares)
        shares = shares.reshape(self.shape)
        solved = self._solve(rows, shares, values, ratios, limits)
        places = np.linspace(0, 1, len(limits))
        multipliers = make_interp_spline(places, solved, k=1)(_STEPS)
        return _SolvedRules(calibrations, shares, multipliers)

    def _decide(self, rules: _SolvedRules, rows: Rows) -> Integers:
        """Return the decisions for all rows, by the plain rule and by each other."""
        scores = self._scores(rules, rows.y_pred, rows.groups.codes)
        by_rule = map(scores.adjust, rules.multipliers)
        return np.array([s.argmax(axis=1) for s in (scores.plain, *by_rule)])

    def _scores(
        self, rules: _SolvedRules, predicted: Floats, codes: Any
    ) -> _RuleScores:
        """Return the plain scores of rows, and the numbers that rules adjust."""
        p = predicted[:, : self.n_classes]
        values, membership = self._values_and_membership(
            rules.calibrations, predicted, codes
        )
        ratios = quotients(membership, rules.shares.ravel())
        return _RuleScores(self.baseline_scores(p), 1 + values + _tie_breaks(p), ratios)

    def _calibrate(self, rows: Rows) -> dict[int, Any]:
        """Fit logistic regressions to logarithms of the predicted probabilities.

        With `uses_group` there is one for each group, which predicts the class;
        otherwise one for each set of rows, which predicts the group.
        """
        rows = rows[np.asarray(self.groups_compared.any(axis=1))[rows.groups.codes]]
        conditions = self.cells_of(rows) % len(self.decisions_compared)
        labels: Integers = rows.groups.codes.astype(np.intp)
        if self.uses_group:
            conditions, labels = labels, rows.y_true
        logs = _logs(rows.y_pred)
        n_coefficients = (logs.shape[1] + 1) * (labels.max() + 1)
        solver = "newton-cholesky" if n_coefficients < _MANY_COEFFICIENTS else "lbfgs"
        calibrations = {}
        for condition in np.unique(conditions).tolist():
            chosen = conditions == condition
            if self.uses_group and chosen.sum() < _ROWS_BY_COEFFICIENT * n_coefficients:
                continue
            weights = rows.weights[chosen] / rows.weights[chosen].mean()
            # Where all rows have the same label, it is certain.
            model = LogisticRegression(solver=solver, max_iter=500)
            model = model if np.ptp(labels[chosen]) else DummyClassifier()
            model.fit(logs[chosen], labels[chosen], sample_weight=weights)
            calibrations[condition] = model
        return calibrations

    def _solve(
        self,
        rows: Rows,
        shares: Floats,
        values: Floats,
        ratios: Floats,
        limits: Floats,
    ) -> list[Floats]:
        """Find the multipliers of smallest expected loss under each limit.

        The search for a limit starts at the solution for the limit before. Where groups
        are predicted and few rates of errors are compared, each difference of rates is
        corrected by what the solution before missed on held-out rows, the more so the
        larger the miss is beside its noise.
        """
        weights = rows.weights / rows.weights.sum()
        problem = _SmoothedProblem(
            self.decisions_compared, shares, values, ratios, weights
        )
        corrects = not self.uses_group and self.constraint != "demographic_parity"
        corrects &= self.decisions_compared.sum() * self.shape[0] <= _MOST_CORRECTED
        # Corrected rates may allow no solution: a miss of d then costs 2 d at most.
        largest = 2 if corrects else None
        solved: list[Floats] = []
        mu = errors = np.zeros(problem.n_comparisons)
        for limit in limits:
            prices = limit * problem.price - errors
            for width in _WIDTHS[bool(solved) :]:
                mu = problem.minimise(mu, width, prices, largest)
            if corrects:
                errors = problem.correct(mu, self.cells_of(rows))
            solved.append(problem.join(mu))
        return solved

    def _gains(self, rows: Rows, decisions: Integers) -> Floats:
        """Return the accuracy of each rule's decisions, or minus their mean cost."""
        costs = self._cost[rows.y_true, decisions]
        cost = np.average(costs, axis=1, weights=rows.weights)
        return 1 - cost if self.performance == "accuracy" else -cost * self._unit

    def choose(self, max_difference: float) -> int:
        """Return the best rule whose difference is shown to be kept.

        If there is none, return the rule with the smallest sum of difference and
        standard error.
        """
        gains = self.table[f"mean_test_{self.performance}"]
        differences = -self.table["mean_test_neg_difference"]
        errors = self.table["difference_error"]
        below = _is_below(differences, errors, max_difference, _N_ERRORS_CHOSEN)
        # A difference that is expected to be larger was measured by luck.
        allowed = below & (self.table["limit"] <= max_difference)
        if below[0] or not self._beyond_noise:
            return 0
        if allowed.any():
            return int(np.where(allowed, gains, -math.inf).argmax())
        return int((differences + errors).argmin())

    def shows(self, chosen: int, max_difference: float) -> bool:
        """Return whether rows show that a rule keeps a difference."""
        difference = -self.table["mean_test_neg_difference"][chosen]
        error = self.table["difference_error"][chosen]
        return bool(_is_below(difference, error, max_difference, _N_ERRORS_SHOWN))

    def compare(self, chosen: int) -> Comparison:
        """Compare the decisions of a rule with the plain ones, on held-out rows."""
        table, rows = self.table, self.rows
        weights = rows.weights / rows.weights.sum()
        plain_cost, cost = (
            self._cost[rows.y_true, self.decisions[rule]] for rule in (0, chosen)
        )
        change = (cost - plain_cost) * self._unit
        error = float(np.linalg.norm(weights * (change - weights @ change)))
        people: Any = {"sensitive_features": rows.groups, "sample_weight": rows.weights}
        figures = []
        for rule in (0, chosen):
            values = {self.performance: table[f"mean_test_{self.performance}"][rule]}
            if self.constraint == "equalized_odds":
                decisions = self.decisions[rule]
                values["dcp"] = dcp(rows.y_true, decisions, **people, method="local")
            values["difference"] = -table["mean_test_neg_difference"][rule]
            figures.append({name: float(value) for name, value in values.items()})
        baseline, mitigated = figures
        errors = dict.fromkeys(baseline, math.nan) | {self.performance: error}
        errors["difference"] = float(table["difference_error"][chosen])
        sizes = dict(zip(rows.labels, rows.groups.sizes().tolist(), strict=True))
        return Comparison(len(rows), baseline, mitigated, errors, sizes)

    def __call__(
        self, predicted: Floats, codes: NDArray[np.integer], chosen: int
    ) -> Floats:
        """Return the score of each class by a rule; the largest score decides.

        `chosen` is at least 1: decisions without a rule are those of `baseline_scores`.
        """
        scores = self._scores(self._solved, predicted, codes)
        return scores.adjust(self._solved.multipliers[chosen - 1])

    def _values_and_membership(
        self,
        calibrations: dict[int, Any],
        predicted: Floats,
        codes: NDArray[np.integer],
    ) -> tuple[Floats, Floats]:
        """Return the value of each decision, and each row's probability of each cell.

        A row without a group is in no cell.
        """
        n_groups, n_conditions = self.shape
        membership = np.zeros((len(codes), n_groups, n_conditions))
        if self.uses_group:
            in_group = codes[:, np.newaxis] == np.arange(n_groups)
            membership += in_group[:, :, np.newaxis]
        classes, logs = predicted[:, : self.n_classes].copy(), _logs(predicted)
        for condition, model in calibrations.items():
            calibrated = model.predict_proba(logs)
            if self.uses_group:
                chosen = codes == condition
                classes[chosen] = 0
                classes[np.ix_(chosen, model.classes_)] = calibrated[chosen]
            else:
                membership[:, model.classes_, condition] = calibrated
        if n_conditions > 1:
            membership *= classes[:, np.newaxis]
        return -classes @ self._cost, membership.reshape(len(codes), -1)


class _SmoothedProblem:
    """The convex problem that multipliers solve, its maximum smoothed.

    The variables `mu` have one entry for each comparison of groups and each decision,
    see the notes of `DecisionPostProcessor`. `price` is the cost of a unit of `mu` for
    each unit of the limit. `values` (of decisions) and `ratios` (of cells) have a row
    for each person, and the `weights` of people sum to 1.
    """

    def __init__(
        self,
        decisions_compared: NDArray[np.bool_],
        shares: Floats,
        values: Floats,
        ratios: Floats,
        weights: Floats,
    ) -> None:
        # Half the digits take half the time, and are more than a rate needs.
        self._values = np.ascontiguousarray(values.T, dtype=np.float32)
        self._ratios = np.ascontiguousarray(ratios.T, dtype=np.float32)
        self._weights = weights
        self._shape = *shares.shape, len(self._values)
        self._conditions, self._decisions = np.nonzero(decisions_compared)
        comparisons, self.price = _comparisons(shares)
        self._comparisons = comparisons[self._conditions]

    @property
    def n_comparisons(self) -> int:
        """Number of comparisons of groups, for all decisions together."""
        return self._comparisons[:, 0].size

    def join(self, mu: Floats) -> Floats:
        """Return the multiplier of each cell (row) and decision (column)."""
        multipliers = np.zeros(self._shape)
        joined = self._comparisons @ mu.reshape(len(self._comparisons), -1, 1)
        multipliers[:, self._conditions, self._decisions] = joined[:, :, 0].T
        return multipliers.reshape(-1, self._shape[-1])

    def minimise(
        self, start: Floats, width: float, prices: Floats, largest: float | None
    ) -> Floats:
        """Return the `mu` between 0 and `largest` at the smallest expected value."""
        solution: Floats = minimize(
            self._objective,
            start,
            args=(width, prices),
            jac=True,
            method="L-BFGS-B",
            bounds=[(0, largest)] * len(start),
            options={"maxiter": 500, "ftol": 1e-7, "gtol": 3e-4},
        ).x
        return solution

    def correct(self, mu: Floats, cells: Integers) -> Floats:
        """Return by how much observed differences of rates exceed predicted ones.

        Observed rates use the cell that each row is in, predicted rates its
        probabilities of cells. An excess is shrunk by the share of noise in it.
        """
        in_cell = np.arange(len(self._ratios))[:, np.newaxis] == cells
        missed = quotients(in_cell, in_cell @ self._weights[:, np.newaxis])
        missed = missed - self._ratios
        chances = self._decide(mu, _WIDTHS[-1])[0]
        errors = self._compare(missed, chances, self._comparisons)
        noise = self._compare(missed**2, chances**2, self._comparisons**2)
        return errors * quotients(errors**2, errors**2 + noise)

    def _objective(
        self, mu: Floats, width: float, prices: Floats
    ) -> tuple[float, Floats]:
        """Return the expected value plus the price of `mu`, and the gradient."""
        chances, smoothed = self._decide(mu, width)
        rates = self._compare(self._ratios, chances, self._comparisons)
        return smoothed + float(prices @ mu), prices - rates

    def _decide(self, mu: Floats, width: float) -> tuple[Floats, float]:
        """Return weights of decisions for each person, and the mean smoothed maximum.

        The weights, of decisions by people, are a softmax of the scores. The smaller
        the width, the more weight the largest score has.
        """
        logits = self._values - self.join(mu).T.astype(np.float32) @ self._ratios
        logits /= np.float32(width)
        largest = logits.max(axis=0)
        chances = np.exp(logits - largest)
        sums = chances.sum(axis=0)
        chances *= (self._weights / sums).astype(np.float32)
        return chances, width * float(self._weights @ (largest + np.log(sums)))

    def _compare(self, ratios: Any, chances: Any, comparisons: Floats) -> Floats:
        """Return the differences of the rates of decisions between groups."""
        rates = (ratios @ chances.T).reshape(self._shape)
        rates = rates[:, self._conditions, self._decisions].T.astype(np.float64)
        return np.asarray((rates[:, np.newaxis] @ comparisons).ravel())


def _read_cost(value: Any, n_classes: int) -> Floats:
    """Return the cost of each class and decision; without a cost, 1 for each error."""
    errors = 1 - np.eye(n_classes)
    try:
        cost = np.asarray(errors if value is None else value, np.float64)
    except (TypeError, ValueError):  # no numbers, or rows of different lengths
        cost = np.zeros(0)
    if cost.shape != (n_classes, n_classes) or not np.isfinite(cost).all():
        raise ValueError(
            f"cost must be finite numbers of shape ({n_classes}, {n_classes}), "
            f"classes by decisions in the order of classes_, got {value!r}."
        )
    return cost


def _decisions_compared(constraint: str, n_classes: int) -> NDArray[np.bool_]:
    """Return which decisions (columns) are compared in each set of rows.

    The sets are all rows, or the rows of each class.
    """
    compared = np.ones((n_classes, n_classes), dtype=bool)
    if constraint == "demographic_parity":
        compared = compared[:1]
    elif constraint == "true_positive_rate":
        compared = np.eye(n_classes, dtype=bool)
    if n_classes == 2:  # rates of the first class are 1 minus those of the second
        compared[:, 0] = False
    return compared


class _RateNoise:
    """Noise of the rates of cells, and of the largest difference of two groups.

    `compared` says which rates are compared, by group, set of rows and decision.
    `units` is 1 over the effective number of rows in each cell.
    """

    def __init__(self, compared: NDArray[np.bool_], units: Floats) -> None:
        self.compared, self.units = compared, units
        generator = np.random.default_rng(0)
        self._draws = generator.standard_normal((_N_DRAWS, *compared.shape))

    def largest(self, rates: Floats) -> Floats:
        """Return the largest difference between two groups."""
        highest = np.where(self.compared, rates, -math.inf).max(axis=-3)
        lowest = np.where(self.compared, rates, math.inf).min(axis=-3)
        return np.asarray((highest - lowest).max(axis=(-2, -1)))

    def measure(
        self,
        rates: Floats,
        overfitting: float = -1.0,
        refitted: Floats | None = None,
    ) -> MeasuredDifference:
        """Return the largest difference expected for new rows, and its standard error.

        For a fixed rule, noise enlarges the largest difference of rates and is
        subtracted. A fitted rule hides the noise to which it was fitted, which is
        added: `overfitting` is the variance of the noise that is added, as a share of
        the variance of a rate, negative where noise is subtracted. `refitted` has the
        rates of the rules fitted without a part of the rows, less the mean of all
        groups. Such a rule may differ more between groups than the average of these
        rules: that excess is added, too.
        """
        if not self.compared.any():
            return MeasuredDifference(math.nan, math.nan)
        refitted = rates[np.newaxis] if refitted is None else refitted
        variances = self._rate_variances(rates)
        all_variances = variances + refitted.var(axis=0) * self.compared
        added, removed, noisy = (
            self.largest(rates + self._draws * np.sqrt(np.maximum(variance, 0)))
            for variance in (
                overfitting * variances,
                -overfitting * variances,
                all_variances,
            )
        )
        mean_rates = refitted.mean(axis=0)
        selection_excess = self.largest(refitted).mean() - self.largest(mean_rates)
        expected = self.largest(rates) + added.mean() - removed.mean()
        expected += selection_excess
        return MeasuredDifference(max(0.0, float(expected)), float(noisy.std()))

    def measure_rules(
        self, rates: Floats, all_rates: Floats, training_rates: Floats
    ) -> list[MeasuredDifference]:
        """Measure each rule by its rates on the rows to which the rules were fitted.

        Multipliers are fitted to some of the noise, which the rates on these rows then
        hide. Rules fitted without a part of the rows estimate how much: the variance of
        their rates on all rows (`all_rates`) comes from the noise that was fitted, and
        the variance of their rates on the rows of the fit (`training_rates`) from the
        noise that was not. Both arrays are parts by rules. The estimated shares are
        smoothed by a line along the rules.
        """
        sizes = self.compared / self.units
        weights = quotients(sizes, sizes.sum(axis=0))
        # By the jackknife, the variance without one part is less by this factor.
        factor = (len(all_rates) - 1) ** 2 / len(all_rates)
        shares, centred = [], []
        by_rule = all_rates.swapaxes(0, 1), training_rates.swapaxes(0, 1)
        for rule, *rates_of_parts in zip(rates, *by_rule, strict=True):
            refitted, training = (
                part_rates - (part_rates * weights).sum(axis=1, keepdims=True)
                for part_rates in rates_of_parts
            )
            fit_variance = refitted.var(axis=0, ddof=1)
            residual_variance = training.var(axis=0, ddof=1)
            excess = factor * ((fit_variance - residual_variance) * sizes).sum()
            variances = self._rate_variances(rule)
            shares.append(excess / (variances * sizes * (1 - weights)).sum())
            centred.append(refitted)
        line = np.polynomial.Polynomial.fit(_STEPS, shares, 1)(_STEPS)
        overfitting = np.clip(line, -1, 1).tolist()
        return [
            self.measure(*rule)
            for rule in zip(rates, overfitting, centred, strict=True)
        ]

    def _rate_variances(self, rates: Floats) -> Floats:
        """Return variances of rates, with one added row of each decision."""
        shrunk = (rates + self.units) / (1 + 2 * self.units)
        return np.where(self.compared, shrunk * (1 - shrunk) * self.units, 0)

    def is_exceeded(self, rates: Floats) -> bool:
        """Test whether the rates of any two groups differ by more than noise."""
        sizes = self.compared / self.units
        mean = quotients((sizes * rates).sum(axis=0), sizes.sum(axis=0))
        errors = np.sqrt(mean * (1 - mean) * self.units)
        noisy = self._largest_ratio(errors * self._draws, errors)
        critical = np.quantile(noisy, 1 - _LEVEL)
        return bool(self._largest_ratio(rates, errors) > critical)

    def _largest_ratio(self, rates: Floats, errors: Floats) -> Floats:
        """Return the largest difference of two groups over its standard error."""
        largest = np.zeros(rates.shape[:-3])
        for first, second in itertools.combinations(range(len(errors)), 2):
            compared = self.compared[first] & self.compared[second]
            error = np.hypot(errors[first], errors[second])
            difference = np.abs(rates[..., first, :, :] - rates[..., second, :, :])
            ratios = quotients(difference, error)[..., compared]
            largest = np.maximum(largest, ratios.max(axis=-1, initial=0))
        return largest


def _is_below(difference: Any, error: Any, limit: float, n_errors: float) -> Any:
    """Return whether difference + n_errors x error, at most 1, is within the limit."""
    return np.minimum(difference + n_errors * error, 1) <= limit


def _comparisons(shares: Floats) -> tuple[Floats, float]:
    """Return the comparisons of groups in each set of rows, and their price.

    The array has the shape (n_conditions, n_groups, n_comparisons). A comparison has 1
    for a group and -1 for another, or for many groups 1 for a group minus the shares of
    all groups. Groups without rows are in no comparison. If each group differs from
    everyone by half a limit, no two groups differ by more than the limit.
    """
    n_groups = len(shares)
    unit, present = np.eye(n_groups), (shares > 0).T
    if n_groups <= _MOST_GROUPS_IN_PAIRS:
        first, second = np.nonzero(1 - unit)
        joined = np.tile(unit[first].T - unit[second].T, (shares.shape[1], 1, 1))
        joined *= (present[:, first] & present[:, second])[:, np.newaxis]
        return joined, 1.0
    overall = quotients(shares, shares.sum(axis=0)).T[:, :, np.newaxis]
    joined = (unit - overall) * present[:, np.newaxis]
    return np.concatenate([joined, -joined], axis=2), 0.5


def _tie_breaks(probabilities: Floats) -> Floats:
    """Return Gumbel noise that breaks near ties, equal for equal probabilities.

    Deciding for the class with the largest sum of score and noise draws a class with
    the probabilities that the smoothed problem assumes. The noise is computed from late
    decimals of the probabilities, multiplied by incommensurable numbers.
    """
    n_classes = probabilities.shape[1]
    digits = _FIRST_DECIMAL * (probabilities @ np.sqrt(np.arange(2, n_classes + 2)))
    uniform = digits[:, np.newaxis] * np.exp(np.arange(n_classes) / n_classes) % 1
    gumbel = -np.log(-np.log(np.clip(uniform, 1e-6, 1 - 1e-6)))
    return np.asarray(_WIDTHS[-1] * gumbel)


def _logs(probabilities: Floats) -> Floats:
    """Return the logarithms of probabilities, which are raised to avoid infinity."""
    return np.asarray(np.log(np.maximum(probabilities, _LEAST_PROBABILITY)))
