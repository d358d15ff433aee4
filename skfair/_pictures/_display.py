"""A display: a dataclass of what is shown, which draws it on axes."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from skfair._pictures._drawing import plain_text, require_matplotlib, wrap_text
from skfair._utils._versions import Versioned

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Axes beside each other in a new figure, at most.
_MAX_COLUMNS = 4


class Display(Versioned):
    """Base of the displays, dataclasses whose fields are given by keyword.

    A display on one axes sets `ax_`; a display with panels sets `axes_`.
    """

    name: str | None
    ax_: Axes
    axes_: NDArray[Any]
    figure_: Any
    #: Whether the display has panels, which are axes of their own.
    _has_panels: ClassVar[bool] = False
    #: Whether the panels of a new figure share the axis of y.
    _shares_y: ClassVar[bool] = False
    #: Title of this plot, if it has one.
    _title: str | None

    def _repr_png_(self) -> bytes | None:
        """Return the picture for a notebook's cell."""
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

    def plot(self, ax: Any = None, *, name: str | None = None) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, or array of them, default=None
            Where to draw, one for each panel. None makes a new figure, as large as the
            display needs.
        name : str, default=None
            Title of the axes. None stands for the display's own.

        Returns
        -------
        Display
            This display.

        Raises
        ------
        ImportError
            Without matplotlib.
        ValueError
            If there is nothing to draw.
        """
        require_matplotlib(f"{type(self).__name__}.plot")
        self._title = self.name if name is None else name
        self._begin(ax)
        titled = self._draw()
        if titled is not None and self._title is not None:
            titled.set_title(wrap_text(plain_text(self._title)))
        self._draw_legend(may_grow=ax is None)
        return self

    def _begin(self, ax: Any) -> None:
        """Set the axes to plot on: the axes passed, or new ones."""
        n_axes = self._count_axes()
        if ax is None:
            import matplotlib.pyplot as plt

            n_columns = min(n_axes, _MAX_COLUMNS)
            shape = -(-n_axes // n_columns), n_columns
            options: dict[str, Any] = {"figsize": self._size(), "squeeze": False}
            options |= {"sharey": self._shares_y, "layout": "constrained"}
            _, drawn = plt.subplots(*shape, **options)
            ax, surplus = np.split(drawn.ravel(), [n_axes])
            for panel in surplus:
                panel.remove()
        axes = np.ravel(np.asarray(ax, dtype=object))
        if len(axes) != n_axes:
            raise ValueError(f"ax must be {n_axes} axes, got {len(axes)}.")
        self.figure_ = axes[0].figure
        if self._has_panels:
            self.axes_ = axes
        else:
            self.ax_ = axes[0]

    def _count_axes(self) -> int:
        """Count the panels."""
        return 1

    def _size(self) -> tuple[float, float] | None:
        """Return the size of a new figure in inches, None for the default."""
        return None

    def _draw(self) -> Axes | None:
        """Draw the display, and return the axes that have the title."""
        raise NotImplementedError

    def _draw_legend(self, *, may_grow: bool) -> None:
        """Draw the legend; the figure may grow to make room for it."""
