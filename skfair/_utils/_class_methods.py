"""Classes whose objects are made of rows by class methods."""

from __future__ import annotations

from inspect import signature
from typing import Any, Self


class MadeByClassMethods:
    """Base of classes that are called with what their class methods have computed."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Refuse rows, and name the class methods that take them."""
        if args or kwargs:  # neither is given where an object is unpickled
            try:
                signature(cls.__init__).bind(None, *args, **kwargs)
            except TypeError as error:
                made = " or ".join(makers_of(cls))
                raise TypeError(
                    f"{cls.__name__} must be made by {made}: {error}."
                ) from None
        return super().__new__(cls)


def makers_of(cls: type) -> list[str]:
    """Names of the class methods that take rows."""
    names = [name for name in dir(cls) if name.startswith("from_")]
    return [f"{cls.__name__}.{name}" for name in names]
