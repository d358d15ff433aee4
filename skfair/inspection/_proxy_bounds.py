"""Bounds of a disparity by how strong a hidden link may be."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from skfair._utils._arrays import Floats
from skfair._utils._text import number
from skfair.inspection import _drawing
from skfair.inspection._display import Display

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from skfair.metrics import ProxyBoundsResult

#: Odds ratios that are drawn, up to this one at least and at most.
_N_POINTS, _LEAST_END, _LARGEST_END = 40, 4.0, 100.0


class ProxyBoundsDisplay(Display):
    """Bounds of a disparity by the odds ratio between a group and its proxy.

    Parameters
    ----------
    odds_ratio : ndarray of shape (n_points,)
        Odds ratios, from 1 on.
    lower, upper : ndarray of shape (n_points,)
        Bounds of the disparity at each of them.
    unbounded : tuple of two floats
        Bounds that hold for any odds ratio.
    limit : float
        Disparity that is asked about, such as none.
    tipping : float
        Least odds ratio at which the bounds contain `limit`; infinity if none does.
    metric : str
        Name of the metric.
    name : str, default=None
        Name of the model, for the title.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    band_ : matplotlib PolyCollection
        Between the bounds.
    unbounded_lines_ : list of two matplotlib Line2D
        The bounds that hold for any odds ratio.
    limit_line_ : matplotlib Line2D
    tipping_line_ : matplotlib Line2D or None
        Where the bounds begin to contain the limit, if they do.

    See Also
    --------
    skfair.metrics.proxy_bounds : The numbers behind the picture.
    CDFGapDisplay.from_proxy_bounds : The groups' distributions within their bounds.

    Examples
    --------
    >>> from skfair.datasets import make_biased_scores
    >>> from skfair.inspection import ProxyBoundsDisplay
    >>> from skfair.metrics import mcdp, proxy_bounds
    >>> _, y_score, group = make_biased_scores(2000, random_state=0)
    >>> result = proxy_bounds(
    ...     mcdp, None, y_score, group_probabilities=0.1 + 0.8 * group
    ... )
    >>> display = ProxyBoundsDisplay.from_result(result, limit=0.1)
    >>> display.limit_line_.get_label()
    'Limit 0.1'
    """

    odds_ratio: Floats
    lower: Floats
    upper: Floats
    unbounded: tuple[float, float]
    limit: float
    tipping: float
    metric: str
    name: str | None = None

    def _draw(self) -> Axes:
        """Draw the display on its axes."""
        low, high = self.unbounded
        text = f"Bounds; {number(self.lower[0])} if independent given the proxy"
        ends, color = (self.lower, self.upper), _drawing.COLORS[0]
        self.band_ = self.ax_.fill_between(
            self.odds_ratio, *ends, color=color, alpha=0.3, label=text
        )
        unbounded = f"Any odds ratio: {number(low)} to {number(high)}"
        style = _drawing.mark_style(2, _drawing.COLORS[0], 1.5)
        self.unbounded_lines_ = [
            self.ax_.axhline(end, **style, label=label)
            for end, label in ((low, unbounded), (high, None))
        ]
        self.limit_line_ = self.ax_.axhline(
            self.limit, **_drawing.mark_style(1), label=f"Limit {self.limit:.4g}"
        )
        self.tipping_line_ = None
        if self.tipping <= self.odds_ratio[-1]:
            text = f"The limit is possible from {self.tipping:.3g} on"
            style = _drawing.mark_style(0, _drawing.COLORS[1])
            self.tipping_line_ = self.ax_.axvline(self.tipping, **style, label=text)
        self.ax_.set(
            xscale="log",
            xlim=(1, self.odds_ratio[-1]),
            xlabel="Odds ratio within cells of the proxy, at most",
            ylabel=_drawing.metric_text(self.metric),
        )
        ticks = [
            t for t in (1, 1.5, 2, 3, 5, 10, 20, 50, 100) if t <= self.odds_ratio[-1]
        ]
        _drawing.mark_ticks(self.ax_, ticks)
        return self.ax_

    def _draw_legend(self, *, may_grow: bool) -> None:
        """Draw the legend above the bounds."""
        highest = max(self.unbounded[1], self.limit)
        _drawing.legend_above_data(self.ax_, None, highest, 1.05)

    @classmethod
    def from_result(
        cls,
        result: ProxyBoundsResult,
        *,
        limit: float = 0.0,
        ax: Axes | None = None,
        name: str | None = None,
    ) -> Self:
        """Draw the bounds of a result at many odds ratios.

        Parameters
        ----------
        result : ProxyBoundsResult
            Result of `skfair.metrics.proxy_bounds`.
        limit : float in [0, 1], default=0.0
            Disparity that is asked about: none, or the largest that is allowed.
        ax : matplotlib Axes, default=None
            Where to draw. None makes a new figure.
        name : str, default=None
            Title of the axes.

        Returns
        -------
        ProxyBoundsDisplay

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If the bounds are undefined.
        """
        if math.isnan(result.estimate):
            raise ValueError("result must have bounds, got nan: groups are absent.")
        return cls(**bounds_by_odds_ratio(result, limit), name=name).plot(ax)


def bounds_by_odds_ratio(result: ProxyBoundsResult, limit: float) -> dict[str, Any]:
    """Parameters of a display that draws a result beyond its tipping point."""
    tipping = result.tipping_odds_ratio(limit)
    end = _LEAST_END if math.isinf(tipping) else max(_LEAST_END, 1.5 * tipping)
    ratios = np.geomspace(1, min(end, _LARGEST_END), _N_POINTS)
    lower, upper = np.array([result.bounds_at(ratio) for ratio in ratios]).T
    return {
        "odds_ratio": ratios,
        "lower": lower,
        "upper": upper,
        "unbounded": result.bounds_at(math.inf),
        "limit": limit,
        "tipping": tipping,
        "metric": result.metric,
    }
