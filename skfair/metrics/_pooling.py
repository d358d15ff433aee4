"""Rates of small groups that borrow from groups alike in some of their columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize
from scipy.special import expit, logit, ndtri

from skfair._rows import Rows
from skfair._utils._arrays import Floats, Integers
from skfair.groups import n_columns_of

#: Power of the prior density of each standard deviation. Without it they are estimated
#: as 0 in small tables, and intervals are too short: they covered .85 to .97 of the
#: rates of five tables, and with it .93 to .97.
_PRIOR_POWER = 0.5
#: Least and largest standard deviation of effects, which are logits.
_DEVIATIONS = 0.005, 5.0
#: Logits move at most so far in a step, and have converged where they move less.
_STEP, _TOLERANCE, _MOST_STEPS = 2.0, 1e-4, 50


def pool_groups(statistic: Rows, confidence_level: float | None) -> Floats:
    """Pool the rates of groups that have rows, by the columns of their labels.

    Returns values and the ends of their intervals, nan for a group without rows.
    """
    several = n_columns_of(statistic.labels) > 1
    labels: Any = statistic.labels
    if not several:
        labels = [(label,) for label in labels]
    present = statistic.totals > 0
    columns = [
        pd.factorize(pd.Index(column, dtype=object, tupleize_cols=False))[0][present]
        for column in zip(*labels, strict=True)
    ]
    pooled = np.full((3, len(present)), np.nan)
    if present.any():
        sizes = statistic.effective_sizes[present]
        rates = statistic.means[present]
        pooled[:, present] = pool_rates(rates, sizes, columns, confidence_level)
    return pooled


def pool_rates(
    rates: Floats,
    sizes: Floats,
    columns: Sequence[Integers],
    confidence_level: float | None,
) -> tuple[Floats, Floats, Floats]:
    r"""Estimate the rate of each group by a regression on its columns.

    The logit of the rate of a group is a mean, an effect of its value in each column,
    and an effect of its own. Effects of each kind are normal, with a variance estimated
    from all groups (restricted likelihood of the working responses of the binomial,
    iterated). So a group of few rows has nearly the rate that its columns predict, and
    a group of many rows nearly its own. With one column there are effects of groups
    alone.

    `columns` have the code of each group, which has at least one row. Returns values
    and the ends of their intervals, nan without a `confidence_level`.
    """
    overall = (rates @ sizes + 0.5) / (sizes.sum() + 1)
    # Half a hit and half a miss, spread over all rows: no table is all 0.
    observed = (rates * sizes + 0.5 * sizes / sizes.sum()) / (
        sizes + sizes / sizes.sum()
    )
    logits = np.full(len(rates), logit(overall))
    effects = _Effects.from_columns(columns)
    for _ in range(_MOST_STEPS):
        means = expit(logits)
        slopes = means * (1 - means)
        responses = logits + (observed - means) / slopes
        predicted, variances = _predict(responses, 1 / (sizes * slopes), effects)
        steps = np.clip(predicted - logits, -_STEP, _STEP)
        logits = logits + steps
        if np.abs(steps).max() < _TOLERANCE:
            break
    if confidence_level is None:
        return expit(logits), *np.full((2, len(rates)), np.nan)
    widths = ndtri((1 + confidence_level) / 2) * np.sqrt(variances)
    return expit(logits), expit(logits - widths), expit(logits + widths)


class _Effects(NamedTuple):
    """Design of a regression: which value of which column each group has."""

    #: A column of ones, then one of 0 and 1 for each value of each column.
    design: Floats
    #: Position of the column that each value belongs to.
    kinds: Integers

    @classmethod
    def from_columns(cls, columns: Sequence[Integers]) -> _Effects:
        """Make the design of the columns that differ between groups, if several do."""
        varied = [codes for codes in columns if len(np.unique(codes)) > 1]
        parts, kinds = [np.ones((len(columns[0]), 1))], []
        for kind, codes in enumerate(varied if len(varied) > 1 else []):
            values = np.unique(codes)
            parts.append((codes[:, np.newaxis] == values).astype(np.float64))
            kinds += [kind] * len(values)
        return cls(np.hstack(parts), np.array(kinds, dtype=np.intp))


def _predict(
    responses: Floats, noise: Floats, effects: _Effects
) -> tuple[Floats, Floats]:
    """Predict the mean of each response, with its variance; the noise is known."""
    n_kinds = int(effects.kinds.max(initial=-1)) + 1
    ends = np.log(_DEVIATIONS)
    fitted = minimize(
        lambda logs: _posterior(logs, responses, noise, effects).loss,
        np.full(n_kinds + 1, ends.mean()),
        method="L-BFGS-B",
        bounds=[ends] * (n_kinds + 1),
    )
    posterior = _posterior(fitted.x, responses, noise, effects)
    design, group_variance = effects.design, np.exp(2 * fitted.x[0])
    # Share of its own rate in the prediction of a group.
    share = group_variance / (group_variance + noise)
    values = (1 - share) * (design @ posterior.coefficients) + share * responses
    spread = (design * cho_solve(posterior.factor, design.T).T).sum(axis=1)
    return values, share * noise + (1 - share) ** 2 * spread


class _Posterior(NamedTuple):
    """Effects given the standard deviations of each kind."""

    #: Minus the log of the restricted likelihood times the prior, up to a constant.
    loss: float
    coefficients: Floats
    #: Cholesky factor of the precision of the coefficients.
    factor: tuple[NDArray[np.float64], bool]


def _posterior(
    logs: Floats, responses: Floats, noise: Floats, effects: _Effects
) -> _Posterior:
    """Fit the effects, given logs of the standard deviations of groups and columns."""
    design, total = effects.design, np.exp(2 * logs[0]) + noise
    # The mean of all groups has a flat prior.
    precisions = np.append(1e-8, np.exp(-2 * logs[1:])[effects.kinds])
    weighted = design / total[:, np.newaxis]
    factor = cho_factor(weighted.T @ design + np.diag(precisions), lower=True)
    coefficients = cho_solve(factor, weighted.T @ responses)
    residuals = responses - design @ coefficients
    squares = residuals @ (residuals / total) + coefficients @ (
        precisions * coefficients
    )
    logdets = np.log(total).sum() + 2 * np.log(np.diag(factor[0])).sum()
    logdets -= np.log(precisions[1:]).sum()
    loss = (logdets + squares) / 2 - _PRIOR_POWER * logs.sum()
    return _Posterior(float(loss), coefficients, factor)
