"""Networks in PyTorch with a penalty: the baselines of the DiffMCDP paper, and fairret.

One network of two hidden layers, full batches, and an Adam of 200 steps for all, so
that the penalties are compared and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from _tables import Rows
from numpy.typing import NDArray
from torch import nn

STEPS, RATE, WIDTH = 200, 0.003, 64
Penalty = Callable[[Any, Any], Any]


def _tensors(rows: Rows) -> tuple[Any, Any, Any]:
    """Features, labels as a column, and one column for each group."""
    X = torch.tensor(rows.X.to_numpy(np.float32))
    y = torch.tensor(rows.y[:, None], dtype=torch.float32)
    groups = np.unique(rows.groups)[None, :] == rows.groups[:, None]
    return X, y, torch.tensor(groups, dtype=torch.float32)


def _network(n_features: int) -> nn.Module:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    return nn.Sequential(
        nn.Linear(n_features, WIDTH),
        nn.ReLU(),
        nn.Linear(WIDTH, WIDTH),
        nn.ReLU(),
        nn.Linear(WIDTH, 1),
    )


def _scores(network: nn.Module, rows: Rows) -> NDArray[Any]:
    with torch.no_grad():
        return torch.sigmoid(network(_tensors(rows)[0])).numpy().ravel().astype(float)


def train_network(
    train: Rows, test: Rows, strength: float, penalty: Penalty, mixed: bool = False
) -> NDArray[Any]:
    """Train with log-loss plus strength times a penalty; return the scores of `test`.

    The penalty is one of the log-odds and the groups, or, if `mixed`, of the network
    and the features of each group.
    """
    X, y, groups = _tensors(train)
    network = _network(X.shape[1])
    optimizer = torch.optim.Adam(network.parameters(), lr=RATE, weight_decay=1e-4)
    loss_of = nn.BCEWithLogitsLoss()
    for _ in range(STEPS):
        optimizer.zero_grad()
        logits = network(X)
        loss = loss_of(logits, y)
        if strength:
            given = (network, [X[groups[:, g] == 1] for g in (0, 1)])
            loss = loss + strength * penalty(*(given if mixed else (logits, groups)))
        loss.backward()
        optimizer.step()
    return _scores(network, test)


def mixup_gap(network: nn.Module, parts: list[Any]) -> Any:
    """Length of the path of mean scores from one group to the other (FairMixup).

    Rows of both groups are drawn, mixed in a random share, and the derivative of the
    mean score by that share is what parity along the path sets to 0.
    """
    size = min(map(len, parts))
    one, other = (part[torch.randint(len(part), (size,))] for part in parts)
    share = torch.rand(1)
    mixed = (one * share + other * (1 - share)).requires_grad_(True)
    mean = torch.sigmoid(network(mixed)).mean()
    (gradient,) = torch.autograd.grad(mean, mixed, create_graph=True)
    return (gradient * (one - other)).sum().abs()


def train_against_adversary(train: Rows, test: Rows, strength: float) -> NDArray[Any]:
    """Train against an adversary that tells the group from the score.

    The network is trained to predict the label and to raise the adversary's loss, the
    adversary to lower it, in turn.
    """
    X, y, groups = _tensors(train)
    network = _network(X.shape[1])
    adversary = nn.Sequential(nn.Linear(1, 16), nn.ReLU(), nn.Linear(16, 1))
    loss_of = nn.BCEWithLogitsLoss()
    ours = torch.optim.Adam(network.parameters(), lr=RATE, weight_decay=1e-4)
    theirs = torch.optim.Adam(adversary.parameters(), lr=10 * RATE)
    member = groups[:, :1]
    for _ in range(STEPS):
        theirs.zero_grad()
        loss_of(adversary(network(X).detach()), member).backward()
        theirs.step()
        ours.zero_grad()
        logits = network(X)
        told = loss_of(adversary(logits), member)
        (loss_of(logits, y) - strength * told).backward()
        ours.step()
    return _scores(network, test)
