"""What all displays are: a dataclass of what is shown, which draws it on axes."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, dataclass_transform

import numpy as np
from numpy.typing import NDArray

from skfair._utils._hints import MadeByClassMethods
from skfair._utils._validation import AnyScale
from skfair._utils._warnings import warn_if_reordered
from skfair.inspection._inputs import estimator_response
from skfair.inspection._style import folded, plain_text, require_matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass_transform(kw_only_default=True, eq_default=False)
class Display(MadeByClassMethods):
    """Base of the displays: each is a dataclass whose fields are given by keyword.

    A display on one axes sets `ax_`, one on several `axes_`.
    """

    name: str | None
    ax_: Axes
    axes_: NDArray[Any]
    figure_: Any

    def __init_subclass__(cls) -> None:
        dataclass(kw_only=True, eq=False, repr=False)(cls)

    def _repr_png_(self) -> bytes | None:
        """Picture of the display where it is the last line of a notebook's cell."""
        figure = getattr(self, "figure_", None)
        if figure is None:  # it has not been plotted
            return None
        import matplotlib.pyplot as plt

        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", bbox_inches="tight")
        if "inline" in plt.get_backend():
            # At the end of the cell pyplot shows its open figures: this one, again.
            plt.close(figure)
        return buffer.getvalue()

    def _begin(
        self, ax: Axes | None, figsize: tuple[float, float] | None = None
    ) -> None:
        """Set the axes to plot on: those given, or of a new figure."""
        require_matplotlib(f"{type(self).__name__}.plot")
        if ax is None:
            import matplotlib.pyplot as plt

            ax = plt.subplots(figsize=figsize, layout="constrained")[1]
        self.ax_, self.figure_ = ax, ax.figure

    def _begin_several(self, ax: Sequence[Axes] | None, mosaic: str) -> NDArray[Any]:
        """Set and return the axes: those given, or of a layout such as "AA;BC"."""
        axes = self._given_axes(ax, len(set(mosaic) - {";"}))
        if axes is None:
            import matplotlib.pyplot as plt

            rows = mosaic.split(";")
            size = 5.25 * len(rows[0]), 4.6 * len(rows)
            drawn = plt.subplot_mosaic(mosaic, figsize=size, layout="constrained")[1]
            axes = np.array(list(drawn.values()), dtype=object)
        self.axes_, self.figure_ = axes, axes[0].figure
        return axes

    def _given_axes(self, ax: Any, n_axes: int) -> NDArray[Any] | None:
        """Return the axes to plot on if they are given, or raise if they are others."""
        require_matplotlib(f"{type(self).__name__}.plot")
        if ax is None:
            return None
        axes = np.ravel(np.asarray(ax, dtype=object))
        if len(axes) != n_axes:
            raise ValueError(f"ax must be {n_axes} axes, got {len(axes)}.")
        return axes

    def _write_title(self, ax: Axes, name: str | None) -> None:
        """Write a name above the axes, or that of the display, if there is one."""
        name = self.name if name is None else name
        if name is not None:
            ax.set_title(folded(plain_text(name)))

    @classmethod
    def _draw_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any,
        name: str | None,
        method: str = "predict_proba",
        control_features: Any = None,
        scale: AnyScale | None = None,
        **options: Any,
    ) -> Self:
        """Draw the responses of an estimator to X by `from_predictions`."""
        require_matplotlib(f"{cls.__name__}.from_estimator")
        warn_if_reordered(X=X, y=y)
        response, groups, strata = estimator_response(
            estimator,
            X,
            sensitive_features,
            method,
            control_features=control_features,
            scale=scale,
        )
        if strata is not None:
            options["control_features"] = strata
        if scale is not None:
            options["scale"] = scale
        options["name"] = type(estimator).__name__ if name is None else name
        draw: Any = cls
        drawn: Self = draw.from_predictions(
            y, response, sensitive_features=groups, **options
        )
        return drawn
