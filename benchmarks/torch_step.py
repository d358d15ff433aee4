"""Measures what `skfair.torch.DiffMCDPLoss` adds to a training step.

    python benchmarks/torch_step.py [cuda]

A step is forward, backward and Adam for the network of the paper (512-256-64) on a
mini-batch of 1,024 rows, with and without the loss, in turn. It prints medians, their
ratio, how often the host waits for the device, and the difference from the value and
the gradient in double precision on the processor.
"""

from __future__ import annotations

import itertools
import statistics
import sys
import time
import warnings

import numpy as np
import torch

from skfair.torch import DiffMCDPLoss

N_ROWS, N_FEATURES, N_STEPS, N_ROUNDS = 1024, 104, 100, 15
OBJECTIVES = ("mcdp", "dp", "abcc")


def network(device: str) -> torch.nn.Module:
    """Build the network of the paper's experiments."""
    torch.manual_seed(0)
    sizes = (N_FEATURES, 512, 256, 64)
    layers: list[torch.nn.Module] = []
    for before, after in itertools.pairwise(sizes):
        layers += [torch.nn.Linear(before, after), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers, torch.nn.Linear(64, 1)).to(device)


class Training:
    """A network with its optimiser, trained with or without the loss."""

    def __init__(self, device: str, objective: str | None) -> None:
        generator = np.random.default_rng(0)
        group = generator.integers(2, size=N_ROWS)
        X = generator.normal(size=(N_ROWS, N_FEATURES)) + group[:, None] / 4
        y = X[:, :5].sum(axis=1) > 0
        self.X = torch.tensor(X, dtype=torch.float32, device=device)
        self.y = torch.tensor(y, dtype=torch.float32, device=device)
        self.groups = torch.tensor(group, device=device)
        self.network = network(device)
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=1e-3)
        self.gap = None if objective is None else DiffMCDPLoss(50, objective)

    def step(self) -> None:
        """Update the network once."""
        self.optimizer.zero_grad()
        logits = self.network(self.X)[:, 0]
        loss = torch.nn.functional.binary_cross_entropy_with_logits(logits, self.y)
        if self.gap is not None:
            loss = loss + self.gap(torch.sigmoid(logits), self.groups)
        loss.backward()
        self.optimizer.step()


def wait(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def milliseconds(training: Training, device: str) -> float:
    """Time of a step, in the mean of a round."""
    wait(device)
    start = time.perf_counter()
    for _ in range(N_STEPS):
        training.step()
    wait(device)
    return 1e3 * (time.perf_counter() - start) / N_STEPS


def count_waits(training: Training) -> int:
    """How often a step makes the host wait for the device."""
    torch.cuda.set_sync_debug_mode("warn")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        training.step()
    torch.cuda.set_sync_debug_mode("default")
    return sum("synchroniz" in str(each.message) for each in caught)


def distance_from_processor(device: str, objective: str) -> tuple[float, float]:
    """Largest difference of value and gradient from those on the processor."""
    generator = np.random.default_rng(1)
    scores, groups = generator.beta(2, 3, 4096), generator.integers(5, size=4096)
    results = []
    for place in ("cpu", device):
        tensor = torch.tensor(scores, device=place, requires_grad=True)
        gap = DiffMCDPLoss(50, objective)(tensor, torch.tensor(groups, device=place))
        gap.backward()
        results.append((float(gap.detach()), tensor.grad.cpu().numpy()))
    (value, gradient), (other, its) = results
    return abs(value - other), float(np.abs(gradient - its).max())


def main(device: str) -> None:
    trainings = {name: Training(device, name) for name in (None, *OBJECTIVES)}
    times: dict[str | None, list[float]] = {name: [] for name in trainings}
    for training in trainings.values():
        milliseconds(training, device)
    for _ in range(N_ROUNDS):
        for name, training in trainings.items():
            times[name].append(milliseconds(training, device))
    plain = statistics.median(times[None])
    print(f"torch {torch.__version__}, {device}; a plain step {plain:.3f} ms")
    for name in OBJECTIVES:
        median = statistics.median(times[name])
        line = f"{name:5s}{median:8.3f} ms{median / plain:6.2f} times"
        if device == "cuda":
            value, gradient = distance_from_processor(device, name)
            line += f"{count_waits(trainings[name]):4d} waits"
            line += f"{value:10.1e}{gradient:10.1e}"
        print(line)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "cpu")
