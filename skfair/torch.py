"""The gap between groups as a loss in PyTorch.

It needs the extra ``torch``; nothing else in skfair imports PyTorch.
"""

from __future__ import annotations

import math
from typing import Any

from skfair._penalty import (
    NEWTON_STEPS,
    OBJECTIVES,
    Objective,
    threshold_grid,
)
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
        self, scores: torch.Tensor, groups: Any, sample_weight: Any = None
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
        if len(flat) and not bool(((flat >= 0) & (flat <= 1)).all()):
            raise ValueError(
                "scores must be probabilities in [0, 1], got values from "
                f"{float(flat.min())} to {float(flat.max())}. Apply torch.sigmoid to "
                "logits."
            )
        shares = _group_shares(flat, groups, sample_weight)
        if len(shares) < 2:
            return flat.sum() * 0
        if self.objective == "dp":
            means = shares @ flat
            return means.max() - means.min()
        grid = torch.as_tensor(threshold_grid(self.temperature)).to(flat)
        if self.objective == "abcc":
            return _area_between_cdfs(self._cdfs(flat, shares, grid), grid)
        with torch.no_grad():
            cdfs = self._cdfs(flat, shares, grid)
            best = (cdfs.amax(dim=0) - cdfs.amin(dim=0)).argmax()
            pair = cdfs[:, best].argmax(), cdfs[:, best].argmin()
            signed = shares[pair[0]] - shares[pair[1]]
            threshold = self._refine_threshold(flat, signed, grid[best])
        return signed @ torch.sigmoid(self.temperature * (threshold - flat))

    def _cdfs(
        self, scores: torch.Tensor, shares: torch.Tensor, grid: torch.Tensor
    ) -> torch.Tensor:
        """Smooth CDF of each group at each threshold, (n_groups, n_thresholds)."""
        return shares @ torch.sigmoid(self.temperature * (grid - scores[:, None]))

    def _refine_threshold(
        self, scores: torch.Tensor, signed: torch.Tensor, threshold: torch.Tensor
    ) -> torch.Tensor:
        """Threshold of the largest gap near a point of the grid, by Newton steps."""
        largest = torch.full_like(threshold, -math.inf)
        best = threshold
        for _ in range(NEWTON_STEPS):
            below = torch.sigmoid(self.temperature * (threshold - scores))
            larger = signed @ below > largest
            best = torch.where(larger, threshold, best)
            largest = torch.where(larger, signed @ below, largest)
            density = signed * below * (1 - below)
            curvature = self.temperature * (density @ (1 - 2 * below))
            step = torch.where(curvature < 0, density.sum() / curvature, 0)
            threshold = (threshold - step).clamp(0, 1)
        return best


def _group_shares(
    scores: torch.Tensor, groups: Any, sample_weight: Any
) -> torch.Tensor:
    """Weight of each row within each group that has weight, (n_groups, n_samples)."""
    weights = torch.ones_like(scores)
    if sample_weight is not None:
        weights = torch.as_tensor(sample_weight).detach().to(scores).reshape(-1)
    if isinstance(groups, torch.Tensor):
        codes = groups.reshape(-1).to(scores.device)
    else:
        codes = torch.as_tensor(encode_groups(groups).codes).to(scores.device)
    for name, values in {"groups": codes, "sample_weight": weights}.items():
        if len(values) != len(scores):
            raise ValueError(
                f"{name} has {len(values)} rows, expected {len(scores)}, one per score."
            )
    if codes.is_floating_point() and bool(codes.isnan().any()):
        raise ValueError("groups has missing values (NaN), expected none.")
    if not bool((weights >= 0).all()):
        raise ValueError(
            f"sample_weight must be non-negative, got {float(weights.min())}."
        )
    present = torch.unique(codes)
    if not isinstance(groups, torch.Tensor):
        present = present[present >= 0]  # -1 marks rows without a group
    members = (codes == present[:, None]).to(scores.dtype) * weights
    totals = members.sum(dim=1)
    shares: torch.Tensor = members[totals > 0] / totals[totals > 0, None]
    return shares


def _area_between_cdfs(cdfs: torch.Tensor, grid: torch.Tensor) -> torch.Tensor:
    """Largest area between two CDFs, by the trapezoidal rule."""
    with torch.no_grad():
        widths = torch.full_like(grid, float(grid[1]))
        widths[[0, -1]] /= 2
        areas = torch.cdist(cdfs * widths, cdfs * widths, p=1)
        first, second = divmod(int(areas.argmax()), len(cdfs))
    return (cdfs[first] - cdfs[second]).abs() @ widths
