"""Turn results into JSON, and compare them with those that were recorded.

Numbers are equal within 1e-12, relative or absolute, and ends of intervals within
1e-9. A number that is drawn at random
is recorded with what its error depends on:

- ``{"chance": p, "n": n}``: a share of n draws, such as a p-value; "standardised" if
  the draws were ordered by gaps that are standardised by the draws themselves;
- ``{"drawn": mean, "sd": s, "n": n}``: a mean of n draws with this deviation;
- ``{"end": x, "sd": s, "n": n}``: a quantile of n draws near the end of a distribution
  with this deviation.

Two of them are the same when they differ by at most four Monte-Carlo standard errors of
their difference, as other draws are as good.
"""

import math
import numbers
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

#: Numbers that are equal.
CLOSE = 1e-12
#: Ends of intervals and p-values of bounds, which are quantiles and roots: versions of
#: SciPy differ by up to 3e-11.
CLOSE_END = 1e-9
ENDS = {"lower", "upper", "smallest_certified", "pvalue", "change_time"}
#: Standard errors within which numbers of other draws lie.
ERRORS = 4.0
#: Standard error of a quantile at 2.5 % of n normal draws, in deviations, times the
#: root of n: sqrt(.025 * .975) / density(1.96).
OF_END = 2.67
#: How much larger the error of a p-value is where draws are ordered by their largest
#: standardised gap, whose mean and deviation are drawn, too. Of 100 p-values and more
#: for each of three seeds none was further away.
STANDARDISED = 2.0
#: Longest list that is recorded as it is.
LONGEST = 40


@dataclass(frozen=True)
class Chance:
    """A share of n draws, which were standardised by n draws or not."""

    value: float
    n: int
    is_standardised: bool = False


@dataclass(frozen=True)
class Drawn:
    """A mean of n draws."""

    value: float
    sd: float
    n: int

    @classmethod
    def of(cls, draws):
        draws = np.asarray(draws, float)
        draws = draws[~np.isnan(draws)]
        if len(draws) == 0:
            return math.nan
        return cls(float(draws.mean()), float(draws.std()), len(draws))


@dataclass(frozen=True)
class End:
    """A quantile of n draws near the end of their distribution."""

    value: float
    sd: float
    n: int

    @classmethod
    def of(cls, value, draws):
        mean = Drawn.of(draws)
        if isinstance(mean, float):
            return value
        return cls(value, mean.sd, mean.n)


@dataclass(frozen=True)
class Table:
    """A table with columns that are drawn, so that the order of rows may be drawn, too.

    Rows are put in the order of the columns `keys`.
    """

    frame: pd.DataFrame
    keys: list[str]
    exact: list[str]
    n: int
    chances: tuple[str, ...] = ()
    standardised: tuple[str, ...] = ()  # p-values of standardised gaps
    means: tuple[str, ...] = ()

    def encoded(self):
        frame = self.frame.reset_index()
        keys = [[repr(plain(label)) for label in frame[key]] for key in self.keys]
        rows = list(zip(*keys, strict=True))
        order = sorted(range(len(frame)), key=rows.__getitem__)
        n = self.n
        turns = dict.fromkeys([*self.keys, *self.exact], plain)
        turns |= dict.fromkeys(self.chances, lambda p: Chance(p, n))
        turns |= dict.fromkeys(self.standardised, lambda p: Chance(p, n, True))
        # The deviation of a gap of chance alone is below its mean.
        turns |= dict.fromkeys(self.means, lambda x: Drawn(x, x, n))
        return {
            "table": {
                name: [plain(turn(frame[name].tolist()[row])) for row in order]
                for name, turn in turns.items()
                if name in frame
            }
        }


def plain(value: Any) -> Any:
    """Turn a result into what JSON holds, the same for every type of numbers."""
    if isinstance(value, Table):
        return value.encoded()
    if isinstance(value, Chance | Drawn | End):
        number = plain(value.value)
        if number is None or isinstance(number, str):
            return number  # undefined
        kind = type(value).__name__.lower()
        sd = {} if isinstance(value, Chance) else {"sd": plain(value.sd)}
        more = {"standardised": True} if getattr(value, "is_standardised", 0) else {}
        return {kind: number, **sd, **more, "n": int(value.n)}
    if value is None or value is pd.NA or value is pd.NaT:
        return None
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        number = float(value)
        return number if math.isfinite(number) else str(number)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, np.ndarray):
        return plain(value.tolist()) if value.size <= LONGEST else digest(value)
    if isinstance(value, pd.DataFrame):
        parts = {str(plain(name)): list(value[name]) for name in value}
        return {"index": plain(list(value.index)), "table": plain(parts)}
    if isinstance(value, pd.Series):
        return {"index": plain(list(value.index)), "values": plain(list(value))}
    if isinstance(value, Mapping):
        return {str(plain(key)): plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    import golden_adapter

    content = golden_adapter.content(value)
    if content is value:
        raise TypeError(f"no way to record a {type(value).__name__}")
    return plain(content)


def digest(values: Any) -> Any:
    """Shorten a long array of numbers: its shape, some of them, and two means."""
    flat = np.asarray(values, float).ravel()
    some = np.linspace(0, len(flat) - 1, 20).astype(int)
    finite = np.where(np.isfinite(flat), flat, -1.0)
    waves = np.cos(np.arange(len(flat)) % 997 * 0.7)
    return {
        "shape": list(np.shape(values)),
        "some": plain(flat[some].tolist()),
        "mean": float(finite.mean()),
        "mean of waves": float((finite * waves).mean()),
    }


def differences(
    found: Any, recorded: Any, tolerance: float = 0.0, path: str = ""
) -> list[str]:
    """Say where a result differs from what is recorded, both as JSON holds them."""
    here = path or "result"
    if isinstance(recorded, dict) and isinstance(found, dict):
        kinds = {"chance", "drawn", "end"} & recorded.keys() & found.keys()
        if kinds:
            kind = kinds.pop()
            error = monte_carlo_error(kind, found, recorded)
            if abs(found[kind] - recorded[kind]) <= error + tolerance + 1e-12:
                return []
            return [
                f"{here}: recorded {recorded[kind]!r}, found {found[kind]!r}, more "
                f"than {error:.3g} apart, {ERRORS:g} Monte-Carlo errors"
            ]
        if recorded.keys() != found.keys():
            return [f"{here}: recorded {list(recorded)}, found {list(found)}"]
        lines = []
        for key, part in recorded.items():
            close = max(tolerance, CLOSE_END) if key in ENDS else tolerance
            lines += differences(found[key], part, close, f"{path}.{key}".strip("."))
        return lines
    if isinstance(recorded, list) and isinstance(found, list):
        if len(recorded) != len(found):
            return [f"{here}: recorded {recorded}, found {found}"]
        return [
            line
            for i, (one, other) in enumerate(zip(found, recorded, strict=True))
            for line in differences(one, other, tolerance, f"{path}[{i}]")
        ]
    if same(found, recorded, tolerance):
        return []
    return [f"{here}: recorded {recorded!r}, found {found!r}"]


def same(found: Any, recorded: Any, tolerance: float) -> bool:
    """Whether two leaves are the same."""
    if isinstance(found, bool) or isinstance(recorded, bool):
        return found is recorded
    if isinstance(found, int | float) and isinstance(recorded, int | float):
        return math.isclose(
            found, recorded, rel_tol=CLOSE, abs_tol=max(CLOSE, tolerance)
        )
    return type(found) is type(recorded) and found == recorded


def monte_carlo_error(kind: str, found: Any, recorded: Any) -> float:
    """How far two numbers of other draws lie apart at most."""
    n = min(found["n"], recorded["n"])
    if kind == "chance":
        p = (found["chance"] + recorded["chance"]) / 2
        # Few draws beyond are Poisson: their number has at least the variance of two.
        error = math.sqrt(2 * max(p * (1 - p), 2 / n) / n)
        if recorded.get("standardised"):
            error *= STANDARDISED
    elif kind == "drawn":
        error = math.sqrt(2 / n) * max(found["sd"], recorded["sd"])
    else:
        error = math.sqrt(2 / n) * max(found["sd"], recorded["sd"]) * OF_END
    return ERRORS * error
