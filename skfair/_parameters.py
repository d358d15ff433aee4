"""Checks of parameters."""

from __future__ import annotations

import numbers
from typing import Any, Literal


def check_integer(name: str, value: Any, low: int, high: int | None = None) -> int:
    """Return an integer parameter that lies within bounds.

    Parameters
    ----------
    name : str
    value : object
    low, high : int
        Bounds, included; None is no bound.

    Returns
    -------
    int

    Raises
    ------
    ValueError
        On anything else, naming the parameter, its value and the bounds.
    """
    integral = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not integral or value < low or (high is not None and value > high):
        bounds = f"of at least {low}" if high is None else f"in [{low}, {high}]"
        raise ValueError(f"{name} must be an integer {bounds}, got {value!r}.")
    return int(value)


def check_real(
    name: str,
    value: Any,
    low: float,
    high: float,
    *,
    closed: Literal["both", "left", "right", "neither"] = "both",
    alternative: str = "",
) -> float:
    """Return a real parameter that lies within an interval.

    Parameters
    ----------
    name : str
    value : object
    low, high : float
        Ends of the interval.
    closed : {"both", "left", "right", "neither"}, default="both"
        Which ends belong to it.
    alternative : str, default=""
        What else the parameter may be, for the message.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        On anything else, NaN included, naming the parameter, its value and the
        interval.
    """
    includes_low, includes_high = (
        closed in ("both", "left"),
        closed in ("both", "right"),
    )
    inside = isinstance(value, numbers.Real) and not isinstance(value, bool)
    inside = inside and (low < value or (includes_low and low == value))
    inside = inside and (value < high or (includes_high and high == value))
    if not inside:
        opening, closing = "[" if includes_low else "(", "]" if includes_high else ")"
        raise ValueError(
            f"{name} must be {alternative}a number in {opening}{low}, {high}{closing}, "
            f"got {value!r}."
        )
    return float(value)


def check_choice(name: str, value: Any, choices: tuple[Any, ...]) -> None:
    """Raise unless a parameter is one of its values.

    Parameters
    ----------
    name : str
    value : object
    choices : tuple

    Raises
    ------
    ValueError
        Naming the parameter, its value and the choices.
    """
    if not any(type(value) is type(choice) and value == choice for choice in choices):
        *others, last = map(repr, choices)
        raise ValueError(
            f"{name} must be {', '.join(others)} or {last}, got {value!r}."
        )
