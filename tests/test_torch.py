"""The loss for networks in PyTorch, against the gap of NumPy."""

import doctest
import importlib
import pickle
import subprocess
import sys
from typing import ClassVar

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skfair._penalty import smooth_gap
from skfair.groups import encode_groups

OBJECTIVES = ["mcdp", "dp", "abcc"]


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch", reason="the extra 'torch' is not installed")


@pytest.fixture(scope="module")
def loss_of(torch):
    from skfair.torch import DiffMCDPLoss

    return DiffMCDPLoss


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize(("dtype", "atol"), [("float64", 1e-12), ("float32", 1e-5)])
def test_value_and_gradient_are_those_of_numpy(
    torch, loss_of, coded_scores, objective, dtype, atol
):
    scores, codes, weights = coded_scores(300, 3)
    tensor = torch.tensor(scores, dtype=getattr(torch, dtype), requires_grad=True)
    gap = loss_of(20, objective)(tensor, torch.tensor(codes), weights)
    gap.backward()
    expected = smooth_gap(scores, codes, weights, temperature=20, objective=objective)
    assert gap.dtype is tensor.dtype
    assert gap.shape == ()
    assert_allclose(gap.detach().numpy(), expected.value, atol=atol)
    assert_allclose(tensor.grad.numpy(), expected.gradient, atol=10 * atol)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_groups_of_any_kind(torch, loss_of, coded_scores, objective):
    scores, codes, _ = coded_scores(300, 3)
    labels = np.array(["x", "y", "z"])[codes]
    loss, tensor = loss_of(objective=objective), torch.tensor(scores)
    expected = float(loss(tensor, torch.tensor(codes)))
    for groups in (
        labels.tolist(),
        labels,
        torch.tensor(codes / 2),
        torch.tensor(codes)[:, None],
        encode_groups(labels, labels=["x", "empty", "z", "y"]),
    ):
        assert float(loss(tensor[:, None], groups)) == pytest.approx(expected)
    missing = np.where(codes == 2, None, labels)
    two = codes < 2
    assert float(loss(tensor, encode_groups(missing, missing="drop"))) == pytest.approx(
        float(loss(tensor[two], codes[two]))
    )


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_one_group_has_no_gap(torch, loss_of, objective):
    scores = torch.tensor([0.1, 0.9], requires_grad=True)
    for groups, weights in (([0, 0], None), ([0, 1], [1.0, 0.0])):
        gap = loss_of(objective=objective)(scores, groups, weights)
        gap.backward()
        assert float(gap.detach()) == 0
        assert not scores.grad.any()


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_a_step_has_few_kernels_and_none_waits_for_the_host(
    torch, loss_of, coded_scores, objective
):
    """One read of the host, of all facts that are checked, is not an operation here."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Count(TorchDispatchMode):
        names: ClassVar[list] = []

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            if not function.is_view:
                self.names.append(function.__name__)
            return function(*args, **(kwargs or {}))

    scores, codes, weights = coded_scores(300, 3)
    tensor, codes = torch.tensor(scores, requires_grad=True), torch.tensor(codes)
    weights = torch.tensor(weights)
    with Count() as counted:
        loss_of(objective=objective)(tensor, codes, weights).backward()
    assert len(counted.names) <= 115
    waiting = {"_local_scalar_dense", "nonzero", "_unique2", "masked_select"}
    assert not waiting & {name.partition(".")[0] for name in counted.names}


def test_training_makes_the_gap_smaller(torch, loss_of):
    generator = torch.Generator().manual_seed(0)
    sex = torch.arange(400) % 2
    X = torch.randn(400, 2, generator=generator)
    X[:, 1] += 2 * sex
    y = (X.sum(dim=1) > 1).float()
    gaps = []
    for strength in (0.0, 1.0):
        model = torch.nn.Linear(2, 1)
        torch.nn.init.zeros_(model.weight)
        torch.nn.init.zeros_(model.bias)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
        loss = loss_of(temperature=20)
        for _ in range(60):
            scores = torch.sigmoid(model(X)[:, 0])
            gap = loss(scores, sex)
            optimizer.zero_grad()
            (
                torch.nn.functional.binary_cross_entropy(scores, y) + strength * gap
            ).backward()
            optimizer.step()
        gaps.append(float(gap.detach()))
    assert gaps[0] > 0.4
    assert gaps[1] < 0.15


@pytest.mark.parametrize(
    ("scores", "groups", "weights", "match"),
    [
        ([0.1, 2.0], [0, 1], None, r"scores must be probabilities in \[0, 1\], got"),
        ([0.1, float("nan")], [0, 1], None, "scores must be probabilities"),
        ([0.1, 0.2], [0, 1, 1], None, "groups has 3 rows, expected 2"),
        ([0.1, 0.2], [0, 1], [1.0], "sample_weight has 1 rows, expected 2"),
        ([0.1, 0.2], [0, 1], [1.0, -1.0], "sample_weight must be non-negative, got -1"),
        ([0.1, 0.2], ["a", None], None, "sensitive_features has 1 missing"),
    ],
)
def test_bad_rows(torch, loss_of, scores, groups, weights, match):
    with pytest.raises(ValueError, match=match):
        loss_of()(torch.tensor(scores), groups, weights)


def test_missing_groups_in_a_tensor(torch, loss_of):
    with pytest.raises(ValueError, match="groups has missing values"):
        loss_of()(torch.tensor([0.1, 0.2]), torch.tensor([0.0, float("nan")]))


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"temperature": 0}, r"temperature must be a number in \(0, inf\), got 0"),
        ({"objective": "ks"}, "objective must be 'mcdp', 'dp' or 'abcc', got 'ks'"),
    ],
)
def test_bad_parameters(loss_of, parameters, match):
    with pytest.raises(ValueError, match=match):
        loss_of(**parameters)


def test_shows_its_parameters_and_pickles(loss_of):
    loss = pickle.loads(pickle.dumps(loss_of(10, "dp")))
    assert repr(loss) == "DiffMCDPLoss(temperature=10.0, objective='dp')"


def run(program):
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout.strip()


@pytest.mark.slow
def test_nothing_else_imports_torch():
    program = "import sys, skfair, skfair.inprocessing; print('torch' in sys.modules)"
    assert run(program) == "False"


def test_without_torch_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "skfair.torch", raising=False)
    with pytest.raises(ImportError, match="the extra 'torch'"):
        importlib.import_module("skfair.torch")


def test_examples_of_the_documentation(torch):
    module = importlib.import_module("skfair.torch")
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    found = doctest.testmod(module, optionflags=flags)
    assert found.attempted > 0
    assert found.failed == 0
