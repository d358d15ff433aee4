"""The gap between groups as a loss in PyTorch.

It needs the extra ``torch``; nothing else in skfair imports PyTorch.
"""

from __future__ import annotations

import math
from typing import Any

from numpy.typing import ArrayLike

from skfair._penalty import OBJECTIVES, Objective, threshold_grid
from skfair._utils._validation import check_choice, check_real
from skfair.groups import encode_groups

try:
    import torch
except ImportError as error:
    raise ImportError(
        "skfair.torch needs PyTorch, which is not installed. Install it with "
        "'pip install torch', or with the extra 'torch' of a skfair checkout: "
        'pip install -e ".[torch]".'
    ) from error

__all__ = ["DiffMCDPLoss"]

#: Intervals of the second grid, on either side of the best threshold of the first.
_FINE = 32
#: Newton steps from the best threshold of the second grid.
_NEWTON_STEPS = 2


class DiffMCDPLoss(torch.nn.Module):  # type: ignore[misc]
    r"""Differentiable gap between the groups' scores, to be added to a loss function.

    .. math::
        \max_{t, g, h} \left| F_g(t) - F_h(t) \right| , \quad
        F_g(t) = \sum_{i \in g} w_i \, \sigma(\tau (t - s_i)) / W_g

    The threshold of the largest gap is found first. The gradient is that at this
    threshold (Algorithm 3 of the paper).

    Parameters
    ----------
    temperature : float, default=50.0
        Steepness :math:`\tau > 0` of the sigmoids. The larger it is, the closer the
        smoothed CDFs are to the true ones, and the fewer scores have a gradient.
    objective : {"mcdp", "dp", "abcc"}, default="mcdp"
        Which gap: the largest difference of the CDFs, the difference of the mean
        scores, or the area between the CDFs. With more than two groups, it is the
        largest over pairs of groups.

    See Also
    --------
    skfair.inprocessing.DiffMCDPClassifier : A network that is trained with this loss.

    Notes
    -----
    If a mini-batch has few rows of a group, its gap is mostly noise. Draw mini-batches
    with many rows of every group, as `DiffMCDPClassifier` does.

    The host reads the device once in a call, to check the numbers and to count the
    groups; scores, groups and weights on the same device make no copy. On an H100 a
    step of the paper's network on 1,024 rows takes 2.0 to 2.1 times as long with the
    loss as without it ("dp" 1.5 to 1.6, "abcc" 2.0; ``benchmarks/torch_step.py``).

    References
    ----------
    .. [1] Jin, Li, Feng. "On the Maximal Local Disparity of Fairness-Aware
       Classifiers". ICML 2024. Section 3.4.

    Examples
    --------
    >>> import torch
    >>> from skfair.torch import DiffMCDPLoss
    >>> logits = torch.tensor([-2.0, -1.0, 1.0, 2.0], requires_grad=True)
    >>> gap = DiffMCDPLoss(temperature=20)(torch.sigmoid(logits), [0, 1, 0, 1])
    >>> gap.backward()
    >>> round(float(gap.detach()), 2), bool(logits.grad.any())
    (0.32, True)
    """

    def __init__(
        self, temperature: float = 50.0, objective: Objective = "mcdp"
    ) -> None:
        super().__init__()
        check_choice("objective", objective, OBJECTIVES)
        self.temperature = check_real(
            "temperature", temperature, 0, math.inf, closed="neither"
        )
        self.objective = objective

    def extra_repr(self) -> str:
        """Show the parameters.

        Returns
        -------
        str
        """
        return f"temperature={self.temperature}, objective={self.objective!r}"

    def forward(
        self, scores: torch.Tensor, groups: Any, sample_weight: ArrayLike | None = None
    ) -> torch.Tensor:
        """Measure the gap.

        Parameters
        ----------
        scores : Tensor of shape (n_samples,) or (n_samples, 1)
            Probabilities of the positive class, not logits.
        groups : Tensor or array-like of shape (n_samples,)
            Group of each row: numbers in a tensor, labels of any kind otherwise.
        sample_weight : Tensor or array-like of shape (n_samples,), default=None
            Non-negative weights.

        Returns
        -------
        Tensor of shape ()
            The gap; 0 with a zero gradient if fewer than two groups have weight.

        Raises
        ------
        ValueError
            On wrong lengths, missing groups, and scores outside [0, 1].
        """
        flat = scores.reshape(-1)
        with torch.no_grad():
            shares = _group_shares(flat, groups, sample_weight)
        if len(shares) < 2:
            return flat.sum() * 0
        if self.objective == "dp":
            with torch.no_grad():
                means = shares @ flat
                signed = _difference(shares, means.argmax(), means.argmin())
            return signed @ flat
        if self.objective == "abcc":
            return self._area_between_cdfs(flat, shares)
        with torch.no_grad():
            signed, threshold = self._find_largest(self.temperature * flat, shares)
        return signed @ torch.sigmoid(threshold - self.temperature * flat)

    def _find_largest(
        self, scores: torch.Tensor, shares: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Find the pair with the largest gap, and the threshold of this gap.

        Scores and thresholds are multiplied by the temperature. The best threshold of
        the grid decides on the pair; a finer grid and Newton steps improve it.
        """
        # Indices stay on the device: `index_select` needs no number on the host.
        grid = self._grid(scores)
        cdfs = shares @ torch.sigmoid(grid - scores[:, None])
        high, first = cdfs.max(dim=0)
        low, second = cdfs.min(dim=0)
        best = (high - low).argmax(dim=0, keepdim=True)
        pair = (each.index_select(0, best) for each in (first, second))
        signed = _difference(shares, *pair)
        width = self.temperature / (len(grid) - 1)
        near = torch.linspace(-width, width, 2 * _FINE + 1, **_tensor_options(scores))
        near = (grid.index_select(0, best) + near).clamp(0, self.temperature)
        gaps = signed @ torch.sigmoid(near - scores[:, None])
        threshold = near.index_select(0, gaps.argmax(dim=0, keepdim=True))
        for _ in range(_NEWTON_STEPS):
            below = torch.sigmoid(threshold - scores)
            density = torch.addcmul(below, below, below, value=-1)
            slope = signed @ density
            curvature = signed @ torch.addcmul(density, density, below, value=-2)
            # Only near a maximum the curvature is below 0, and the step short.
            step = torch.where(curvature < 0, slope / curvature, 0)
            threshold = threshold - step.clamp(-width / _FINE, width / _FINE)
        return signed, threshold.clamp(0, self.temperature)

    def _grid(self, scores: torch.Tensor) -> torch.Tensor:
        """Return the thresholds of the grid, multiplied by the temperature."""
        n_thresholds = len(threshold_grid(self.temperature))
        return torch.linspace(
            0, self.temperature, n_thresholds, **_tensor_options(scores)
        )

    def _area_between_cdfs(
        self, scores: torch.Tensor, shares: torch.Tensor
    ) -> torch.Tensor:
        """Return the largest area between two CDFs, by the trapezoidal rule."""
        grid = self._grid(scores)
        cdfs = shares @ torch.sigmoid(grid - self.temperature * scores[:, None])
        with torch.no_grad():
            widths = torch.full_like(grid, 1 / (len(grid) - 1))
            widths[:: len(grid) - 1] /= 2
            areas = torch.cdist(cdfs * widths, cdfs * widths, p=1)
            largest = areas.argmax()
            pair = largest // len(cdfs), largest % len(cdfs)
        return _difference(cdfs, *pair).abs() @ widths


def _tensor_options(scores: torch.Tensor) -> dict[str, Any]:
    """Return keywords that give a new tensor the type and device of the scores."""
    return {"dtype": scores.dtype, "device": scores.device}


def _difference(
    rows: torch.Tensor, first: torch.Tensor, second: torch.Tensor
) -> torch.Tensor:
    """Subtract two rows without moving their positions to the host."""
    pair = (rows.index_select(0, position.reshape(1)) for position in (first, second))
    difference: torch.Tensor = torch.sub(*pair)[0]
    return difference


def _group_shares(
    scores: torch.Tensor, groups: Any, sample_weight: ArrayLike | None
) -> torch.Tensor:
    """Return the weight of each row within each group, (n_groups, n_samples).

    A group without weight gets the shares of the heaviest group, so that it adds no
    gap. The host reads from the device only once: `_read_facts`.
    """
    labelled = isinstance(groups, torch.Tensor)
    labels = groups if labelled else torch.as_tensor(encode_groups(groups).codes)
    row_values = {"groups": labels.to(scores.device).reshape(-1)}
    if sample_weight is not None:
        weights = torch.as_tensor(sample_weight).detach().to(scores)
        row_values["sample_weight"] = weights.reshape(-1)
    for name, values in row_values.items():
        if len(values) != len(scores):
            raise ValueError(
                f"{name} has {len(values)} rows, expected {len(scores)}, one per score."
            )
    if not len(scores):
        return scores.new_empty(0, 0)
    ordered, order = row_values["groups"].sort()
    codes = torch.zeros_like(order)
    codes[1:] = (ordered[1:] != ordered[:-1]).cumsum(0)
    n_groups, has_none = _read_facts(scores, row_values, ordered, codes[-1])
    codes = torch.empty_like(codes).scatter_(0, order, codes)
    if has_none and not labelled:  # -1 marks rows without a group
        codes, n_groups = codes - 1, n_groups - 1
    present = torch.arange(n_groups, device=scores.device)
    members = (codes == present[:, None]).to(scores.dtype)
    if sample_weight is not None:
        members = members * row_values["sample_weight"]
    if n_groups < 2:
        return members
    totals = members.sum(dim=1, keepdim=True)
    shares = members / totals.clamp(min=torch.finfo(scores.dtype).tiny)
    heaviest = shares.index_select(0, totals.argmax().reshape(1))
    return torch.where(totals > 0, shares, heaviest)


def _read_facts(
    scores: torch.Tensor,
    row_values: dict[str, torch.Tensor],
    ordered: torch.Tensor,
    last_code: torch.Tensor,
) -> tuple[int, bool]:
    """Check the numbers; return the number of groups, and whether one is negative.

    All facts move to the host at once.
    """
    low, high = scores.aminmax()
    facts = [low, 1 - high, last_code, ordered[0], ordered[-1]]
    if "sample_weight" in row_values:
        facts.append(row_values["sample_weight"].min())
    low, room, last, smallest, most, *lightest = torch.stack(
        [fact.to(torch.float32) for fact in facts]
    ).tolist()
    if not (low >= 0 and room >= 0):
        raise ValueError(
            "scores must be probabilities in [0, 1], got values from "
            f"{float(scores.min())} to {float(scores.max())}. Apply torch.sigmoid to "
            "logits."
        )
    if math.isnan(most):
        raise ValueError("groups has missing values (NaN), expected none.")
    if lightest and not lightest[0] >= 0:
        raise ValueError(f"sample_weight must be non-negative, got {lightest[0]}.")
    return int(last) + 1, smallest < 0
