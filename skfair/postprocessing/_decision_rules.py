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
#: Points of the path: three steps from one of these limits to the next.
_STEPS = np.linspace(0, 1, 3 * len(_SHARES) - 2)
#: Widths by which the largest score is smoothed, one after the other. The solution for
#: the limit before is near enough to start with the last one.
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


class _Rules(NamedTuple):
    """Rules of a path, with the numbers that apply them.

    `calibrations` are by set of rows or by group, `shares` are those of the cells, and
    `multipliers` have the shape (n_rules, n_cells, n_classes).
    """

    calibrations: dict[int, Any]
    shares: Floats
    multipliers: Floats


class DecisionRules:
    """Decision rules of a path, from the plain rule to the fairest.

    `compared` says which decisions (columns) are compared in each set of rows, and
    `kept` which groups are; `cost` has classes by decisions. Rows have a probability of
    each class, and without the group one of each group.
    """

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
        self.compared = _compare_decisions(constraint, self.n_classes)
        self.shape = n_groups, len(self.compared)
        self.kept = np.zeros(self.shape, dtype=bool)

    def keep_groups(self, rows: Rows) -> tuple[NDArray[np.bool_], Floats]:
        """Set the groups to compare, and return the groups of too few rows.

        Return also the effective number of rows, by group and set of rows.
        """
        counts = self.effective_rows(rows)
        few = (counts <= FEW_HELD_OUT_ROWS) & self.compared.any(axis=1)
        self.kept = ~few & self.compared.any(axis=1)
        self.kept &= self.kept.sum(axis=0) > 1
        return few, counts

    def baseline_scores(self, p: Floats) -> Floats:
        """Return one minus the expected cost of each decision."""
        return np.asarray(1 - p @ self._cost)

    def cells_of(self, rows: Rows) -> Integers:
        """Return the number of the group and set of rows of each row together."""
        conditions = rows.y_true * (len(self.compared) > 1)
        codes = rows.groups.codes.astype(np.intp)
        return np.asarray(np.ravel_multi_index((codes, conditions), self.shape))

    def effective_rows(self, rows: Rows) -> Floats:
        """Return the effective number of rows of each group and set."""
        cells, weights = self.cells_of(rows), rows.weights
        totals, squares = (
            np.bincount(cells, values, math.prod(self.shape))
            for values in (weights, weights**2)
        )
        return quotients(totals**2, squares).reshape(self.shape)

    def _rates(self, rows: Rows, decisions: Integers) -> Floats:
        """Return the rates of the decisions of each rule in each cell."""
        cells = self.n_classes * self.cells_of(rows)
        shape = *self.shape, self.n_classes
        sums = np.array(
            [
                np.bincount(cells + each, rows.weights, math.prod(shape))
                for each in decisions
            ]
        ).reshape(-1, *shape)
        return quotients(sums, sums.sum(axis=-1, keepdims=True))

    def fit(self, rows: Rows, fitted: Callable[[int], Rows]) -> Self:
        """Solve for limits from the plain difference down to 0, and measure each.

        `rows` were held out, by the model of their `fold`. Of the number of a fold
        `fitted` returns the rows that its model was fitted to, and of -1 those of the
        model that predicts, as they predict them.
        """
        self.rows = rows
        p = rows.y_pred[:, : self.n_classes]
        self.held_out = (-p @ self._cost).argmax(axis=1)[np.newaxis]
        units = quotients(1, self.effective_rows(rows), 1.0)[:, :, np.newaxis]
        noise = _RateNoise(self.kept[:, :, np.newaxis] & self.compared, units)
        rates, gains = (
            each(rows, self.held_out) for each in (self._rates, self._gains)
        )
        limits, path = np.ones(1), list[tuple[float, float]]()
        if self.kept.any():
            of_path = np.multiply(_SHARES, noise.largest(rates[0]))
            of_path = np.maximum(of_path, _LEAST_LIMIT)
            # No difference is above 1, the limit of the plain decisions.
            between = np.interp(_STEPS, np.linspace(0, 1, len(of_path)), of_path)
            limits = np.concatenate([limits, between])
            self._path = self._fit_rules(rows, of_path)
            self.held_out = self._decide(self._path, rows)
            rates, gains = self._measure(fitted)
            of_parts = self._rates_without_parts(of_path)
            path = noise.measure_path(rates[1:], *of_parts)
        self._beyond_noise = self.kept.any() and noise.is_exceeded(rates[0])
        measured = [noise.measure(rates[0]), *path]
        differences, errors = np.transpose(measured)
        self.table = {
            "params": [{"limit": limit} for limit in limits.tolist()],
            "limit": limits,
            f"mean_test_{self.performance}": gains,
            "mean_test_neg_difference": -differences,
            "difference_error": errors,
        }
        return self

    def _measure(self, fitted: Callable[[int], Rows]) -> tuple[Floats, Floats]:
        """Measure rates and gains of plain decisions and all rules, as they predict.

        They are those of the held-out rows, and what the model that predicts changes in
        rows to which it was fitted as the model of a fold was: where rows share scores,
        it may decide for all of them as no model of a fold does.
        """
        rows, every = self.rows, fitted(-1)
        rates, gains = (
            self._rates(rows, self.held_out),
            self._gains(rows, self.held_out),
        )
        predicted = np.empty((len(rates), int(every.position.max()) + 1), dtype=np.intp)
        predicted[:, every.position] = self._decide(self._path, every)
        totals = self._weights_of(rows)
        for fold in np.unique(rows.fold).tolist():
            own = fitted(fold)
            both = predicted[:, own.position], self._decide(self._path, own)
            held = self._weights_of(rows[rows.fold == fold])
            after, before = (self._rates(own, decisions) for decisions in both)
            rates += held / totals * (after - before)
            after, before = (self._gains(own, decisions) for decisions in both)
            gains += held.sum() / totals.sum() * (after - before)
        return np.clip(rates, 0, 1), gains

    def _rates_without_parts(self, limits: Floats) -> tuple[Floats, Floats]:
        """Return rates of rules that are fitted to all parts of the rows but one.

        They are those in all rows, and in the rows that the rules are fitted to, of
        parts by rules.
        """
        rows, on_all, on_others = self.rows, [], []
        parts = assign_folds(rows.y_true, rows.groups.codes, _N_PARTS, None)
        for part in range(_N_PARTS):
            others = parts != part
            rules = self._fit_rules(rows[others], limits)
            decisions = self._decide(rules, rows)[1:]
            on_all.append(self._rates(rows, decisions))
            on_others.append(self._rates(rows[others], decisions[:, others]))
        return np.array(on_all), np.array(on_others)

    def _weights_of(self, rows: Rows) -> Floats:
        """Return the weight of each cell, at least the smallest positive number."""
        weights = np.bincount(self.cells_of(rows), rows.weights, math.prod(self.shape))
        return np.maximum(weights, np.finfo(float).tiny).reshape(*self.shape, 1)

    def _fit_rules(self, rows: Rows, limits: Floats) -> _Rules:
        """Calibrate, and solve for limits; interpolate multipliers between them."""
        calibrations, kept = self._calibrate(rows), np.where(self.kept, 1.0, 0.0)
        rules = _Rules(calibrations, kept, np.zeros(0))
        values, ratios = self._values_and_ratios(rules, rows.y_pred, rows.groups.codes)
        shares = (rows.weights / rows.weights.sum()) @ ratios
        rules = rules._replace(shares=shares.reshape(self.shape))
        ratios = quotients(ratios, shares)
        solved = self._solve(rows, rules.shares, values, ratios, limits)
        path = make_interp_spline(np.linspace(0, 1, len(limits)), solved, k=1)(_STEPS)
        return rules._replace(multipliers=path)

    def _decide(self, rules: _Rules, rows: Rows) -> Integers:
        """Return the plain decisions, and those of each rule of a path."""
        plain, values, ratios = self._scores_and_ratios(
            rules, rows.y_pred, rows.groups.codes
        )
        counted, plain = ratios.any(axis=1), plain.argmax(axis=1)
        return np.array(
            [plain]
            + [
                np.where(counted, (values - ratios @ each).argmax(axis=1), plain)
                for each in rules.multipliers
            ]
        )

    def _scores_and_ratios(
        self, rules: _Rules, predicted: Floats, codes: Any
    ) -> tuple[Floats, Floats, Floats]:
        """Return plain scores, adjusted scores, and ratios of cells."""
        p = predicted[:, : self.n_classes]
        values, ratios = self._values_and_ratios(rules, predicted, codes)
        return self.baseline_scores(p), 1 + values + _noise(p), ratios

    def _calibrate(self, rows: Rows) -> dict[int, Any]:
        """Fit logistic regressions to logarithms of the predicted probabilities.

        With the group they predict the class in each group, without it the group in
        each set of rows.
        """
        rows = rows[np.asarray(self.kept.any(axis=1))[rows.groups.codes]]
        conditions = self.cells_of(rows) % len(self.compared)
        labels: Integers = rows.groups.codes.astype(np.intp)
        if self.uses_group:
            conditions, labels = labels, rows.y_true
        logs = _logs(rows.y_pred)
        n_coefficients = (logs.shape[1] + 1) * (labels.max() + 1)
        solver = "newton-cholesky" if n_coefficients < _MANY_COEFFICIENTS else "lbfgs"
        calibrations = {}
        for condition in np.unique(conditions).tolist():
            own = conditions == condition
            if self.uses_group and own.sum() < _ROWS_BY_COEFFICIENT * n_coefficients:
                continue
            weights = rows.weights[own] / rows.weights[own].mean()
            # Where all rows have the same label, it is certain.
            model = LogisticRegression(solver=solver, max_iter=500)
            model = model if np.ptp(labels[own]) else DummyClassifier()
            model.fit(logs[own], labels[own], sample_weight=weights)
            calibrations[condition] = model
        return calibrations

    def _solve(
        self,
        rows: Rows,
        of_cells: Floats,
        values: Floats,
        ratios: Floats,
        limits: Floats,
    ) -> list[Floats]:
        """Find the multipliers of smallest expected loss under each limit.

        There is a multiplier for each cell (row) and decision (column). They join those
        of comparisons of groups, which start from the solution of the limit before. If
        groups are predicted, errors in comparing few rates are corrected, the more so
        the larger they are beside their noise.
        """
        # Half the digits take half the time, and are more than a rate needs.
        values = np.ascontiguousarray(values.T, dtype=np.float32)
        ratios = np.ascontiguousarray(ratios.T, dtype=np.float32)
        shape = *self.shape, len(values)
        conditions, decisions = np.nonzero(self.compared)
        comparisons, price = _comparisons(of_cells)
        comparisons = comparisons[conditions]
        corrected = not self.uses_group and self.constraint != "demographic_parity"
        corrected &= self.compared.sum() * self.shape[0] <= _MOST_CORRECTED
        # Corrected rates may allow no solution: a miss of d then costs 2 d at most.
        bounds = (0, 2 if corrected else None)
        weights = rows.weights / rows.weights.sum()
        own = np.arange(len(ratios))[:, np.newaxis] == self.cells_of(rows)
        missed = quotients(own, own @ weights[:, np.newaxis]) - ratios

        def join(parts: Floats) -> Floats:
            multipliers = np.zeros(shape)
            joined = comparisons @ parts.reshape(len(comparisons), -1, 1)
            multipliers[:, conditions, decisions] = joined[:, :, 0].T
            return multipliers.reshape(-1, shape[-1])

        def decide(parts: Floats, width: float) -> tuple[Floats, float]:
            logits = values - join(parts).T.astype(np.float32) @ ratios
            logits /= np.float32(width)
            largest = logits.max(axis=0)
            chances = np.exp(logits - largest)
            sums = chances.sum(axis=0)
            chances *= (weights / sums).astype(np.float32)
            return chances, width * float(weights @ (largest + np.log(sums)))

        def compare(ratio: Floats, chances: Floats, by: Floats = comparisons) -> Floats:
            rates = (ratio @ chances.T).reshape(shape)[:, conditions, decisions].T
            return (rates[:, np.newaxis].astype(np.float64) @ by).ravel()

        def objective(parts: Floats, width: float, prices: Floats) -> tuple[Any, Any]:
            chances, smoothed = decide(parts, width)
            return smoothed + prices @ parts, prices - compare(ratios, chances)

        path: list[Floats] = []
        parts = errors = np.zeros(comparisons[:, 0].size)
        for limit in limits:
            for width in _WIDTHS[bool(path) :]:
                parts = minimize(
                    objective,
                    parts,
                    args=(width, limit * price - errors),
                    jac=True,
                    method="L-BFGS-B",
                    bounds=[bounds] * len(parts),
                    options={"maxiter": 500, "ftol": 1e-7, "gtol": 3e-4},
                ).x
            if corrected:
                chances = decide(parts, _WIDTHS[-1])[0]
                errors = compare(missed, chances)
                noise = compare(missed**2, chances**2, comparisons**2)
                errors *= quotients(errors**2, errors**2 + noise)
            path.append(join(parts))
        return path

    def _gains(self, rows: Rows, decisions: Integers) -> Floats:
        """Return the accuracy of decisions of each rule, or minus their mean cost."""
        costs = self._cost[rows.y_true, decisions]
        cost = np.average(costs, axis=1, weights=rows.weights)
        return 1 - cost if self.performance == "accuracy" else -cost * self._unit

    def choose(self, max_difference: float) -> int:
        """Return the best rule of the path whose difference is shown to be kept.

        Where none is, it is that with the smallest sum of difference and error.
        """
        path = self.table
        gains = path[f"mean_test_{self.performance}"]
        differences = -path["mean_test_neg_difference"]
        errors = path["difference_error"]
        # A difference that is expected to be larger was measured by luck.
        below = _is_below(differences, errors, max_difference, _N_ERRORS_CHOSEN)
        allowed = below & (path["limit"] <= max_difference)
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
        path, rows, columns = self.table, self.rows, list[dict[str, float]]()
        weights = rows.weights / rows.weights.sum()
        costs = [self._cost[rows.y_true, self.held_out[i]] for i in (0, chosen)]
        change = (costs[1] - costs[0]) * self._unit
        error = float(np.linalg.norm(weights * (change - weights @ change)))
        people: Any = {"sensitive_features": rows.groups, "sample_weight": rows.weights}
        for i in (0, chosen):
            values = {self.performance: path[f"mean_test_{self.performance}"][i]}
            if self.constraint == "equalized_odds":
                decisions = self.held_out[i]
                values["dcp"] = dcp(rows.y_true, decisions, **people, method="local")
            values["difference"] = -path["mean_test_neg_difference"][i]
            columns.append({name: float(value) for name, value in values.items()})
        errors = dict.fromkeys(columns[0], math.nan) | {self.performance: error}
        errors["difference"] = float(path["difference_error"][chosen])
        sizes = dict(zip(rows.labels, rows.groups.sizes().tolist(), strict=True))
        return Comparison(len(rows), columns[0], columns[1], errors, sizes)

    def __call__(
        self, predicted: Floats, codes: NDArray[np.integer], chosen: int
    ) -> Floats:
        """Return the score of each class by a rule, the largest of which decides."""
        plain, values, ratios = self._scores_and_ratios(self._path, predicted, codes)
        scores = values - ratios @ self._path.multipliers[chosen - 1]
        return np.where(ratios.any(axis=1, keepdims=True), scores, plain)

    def _values_and_ratios(
        self, rules: _Rules, predicted: Floats, codes: NDArray[np.integer]
    ) -> tuple[Floats, Floats]:
        """Return the value of each decision, and weights of rows in each rate.

        A row without a group counts in none.
        """
        n_groups, n_conditions = self.shape
        of_groups = np.zeros((len(codes), n_groups, n_conditions))
        if self.uses_group:
            of_groups += (codes[:, np.newaxis] == np.arange(n_groups))[:, :, np.newaxis]
        of_classes, logs = predicted[:, : self.n_classes].copy(), _logs(predicted)
        for condition, model in rules.calibrations.items():
            fitted = model.predict_proba(logs)
            if self.uses_group:
                own = codes == condition
                of_classes[own] = 0
                of_classes[np.ix_(own, model.classes_)] = fitted[own]
            else:
                of_groups[:, model.classes_, condition] = fitted
        if n_conditions > 1:
            of_groups *= of_classes[:, np.newaxis]
        ratios = quotients(of_groups.reshape(len(codes), -1), rules.shares.ravel())
        return -of_classes @ self._cost, ratios


def _read_cost(given: Any, n_classes: int) -> Floats:
    """Return the cost of each class and decision, errors where none is given."""
    errors = 1 - np.eye(n_classes)
    try:
        cost = np.asarray(errors if given is None else given, np.float64)
    except (TypeError, ValueError):  # no numbers, or rows of different lengths
        cost = np.zeros(0)
    if cost.shape != (n_classes, n_classes) or not np.isfinite(cost).all():
        raise ValueError(
            f"cost must be finite numbers of shape ({n_classes}, {n_classes}), "
            f"classes by decisions in the order of classes_, got {given!r}."
        )
    return cost


def _compare_decisions(constraint: str, n_classes: int) -> NDArray[np.bool_]:
    """Say which decisions (columns) are compared in each set of rows.

    The sets are all rows, or those of each class.
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

    `compared` says which rates are, of shape (n_groups, n_conditions, n_classes), and
    `units` has the inverse number of rows of each cell.
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
        self, rates: Floats, fitted: float = -1.0, fits: Floats | None = None
    ) -> tuple[float, float]:
        """Return the largest difference expected for new rows, and its standard error.

        Noise adds to the largest difference of rates, and that of a rule that is given
        is subtracted. What is `fitted` is the share of the variance of this noise that
        new rows have more than these. Rates of parts come from several `fits`, of which
        any one may differ more than their mean; theirs are less the mean of all groups.
        """
        if not self.compared.any():
            return math.nan, math.nan
        fits = rates[np.newaxis] if fits is None else fits
        variances = self._noise_of(rates)
        all_variances = variances + fits.var(axis=0) * self.compared
        hidden = fitted * variances
        more, less, all_noise = (
            self.largest(rates + self._draws * np.sqrt(np.maximum(each, 0)))
            for each in (hidden, -hidden, all_variances)
        )
        of_one = self.largest(fits).mean() - self.largest(fits.mean(axis=0))
        expected = self.largest(rates) + more.mean() - less.mean() + of_one
        return max(0.0, float(expected)), float(all_noise.std())

    def measure_path(
        self, rates: Floats, on_all: Floats, on_others: Floats
    ) -> list[tuple[float, float]]:
        """Measure the rules of a path by their rates in the rows they are fitted to.

        Multipliers are fitted to noise in part, which these rates hide, and new rows do
        not have. How much is told by rules that are fitted without a part of the rows:
        their rates `on_all` rows vary by what is fitted, and those `on_others`, to
        which they are fitted, by what is not. Both are of parts by rules. A line along
        the path smooths this share.
        """
        sizes, shares, fits = self.compared / self.units, [], []
        weights = quotients(sizes, sizes.sum(axis=0))
        # By the jackknife, the variance without one part is less by this factor.
        factor = (len(on_all) - 1) ** 2 / len(on_all)
        of_rules = on_all.swapaxes(0, 1), on_others.swapaxes(0, 1)
        for rule, *both in zip(rates, *of_rules, strict=True):
            relative = [
                each - (each * weights).sum(axis=1, keepdims=True) for each in both
            ]
            of_fit, of_rest = (each.var(axis=0, ddof=1) for each in relative)
            variances = self._noise_of(rule)
            excess = factor * ((of_fit - of_rest) * sizes).sum()
            shares.append(excess / (variances * sizes * (1 - weights)).sum())
            fits.append(relative[0])
        line = np.polynomial.Polynomial.fit(_STEPS, shares, 1)(_STEPS)
        fitted = np.clip(line, -1, 1).tolist()
        return [self.measure(*each) for each in zip(rates, fitted, fits, strict=True)]

    def _noise_of(self, rates: Floats) -> Floats:
        """Return variances of rates, with one added row of each decision."""
        shrunk = (rates + self.units) / (1 + 2 * self.units)
        return np.where(self.compared, shrunk * (1 - shrunk) * self.units, 0)

    def is_exceeded(self, rates: Floats) -> bool:
        """Test whether any two groups differ, each pair by its standard error."""
        sizes = self.compared / self.units
        mean = quotients((sizes * rates).sum(axis=0), sizes.sum(axis=0))
        errors = np.sqrt(mean * (1 - mean) * self.units)
        noisy = self._largest_ratio(errors * self._draws, errors)
        critical = np.quantile(noisy, 1 - _LEVEL)
        return bool(self._largest_ratio(rates, errors) > critical)

    def _largest_ratio(self, rates: Floats, errors: Floats) -> Floats:
        """Return the largest difference of two groups beside its standard error."""
        largest = np.zeros(rates.shape[:-3])
        for first, second in itertools.combinations(range(len(errors)), 2):
            both = self.compared[first] & self.compared[second]
            error = np.hypot(errors[first], errors[second])
            difference = np.abs(rates[..., first, :, :] - rates[..., second, :, :])
            ratios = quotients(difference, error)[..., both]
            largest = np.maximum(largest, ratios.max(axis=-1, initial=0))
        return largest


def _is_below(difference: Any, error: Any, limit: float, n_errors: float) -> Any:
    """Return whether differences are below a limit by standard errors."""
    return np.minimum(difference + n_errors * error, 1) <= limit


def _comparisons(shares: Floats) -> tuple[Floats, float]:
    """Return the comparisons of groups in each set of rows, and their price.

    They are of shape (n_conditions, n_groups, n_comparisons): 1 for a group, and -1 for
    another, or minus the shares of all. Groups without rows are in none. If each group
    differs from everyone by half a limit, no two groups differ by more than the limit.
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


def _noise(probabilities: Floats) -> Floats:
    """Return Gumbel noise that breaks near ties, equal for equal scores.

    Their largest sum with scores is a class drawn as the smoothed problem assumes. They
    are made of late decimals of the probabilities, times numbers of which none is a
    fraction of others.
    """
    n_classes = probabilities.shape[1]
    digits = _FIRST_DECIMAL * (probabilities @ np.sqrt(np.arange(2, n_classes + 2)))
    uniform = digits[:, np.newaxis] * np.exp(np.arange(n_classes) / n_classes) % 1
    gumbel = -np.log(-np.log(np.clip(uniform, 1e-6, 1 - 1e-6)))
    return np.asarray(_WIDTHS[-1] * gumbel)


def _logs(probabilities: Floats) -> Floats:
    """Return the logarithms of probabilities, none of which is infinite."""
    return np.asarray(np.log(np.maximum(probabilities, _LEAST_PROBABILITY)))
