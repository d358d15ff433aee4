"""The table of rows: parts of it, cells of people who are alike, and draws."""

import math
from collections import Counter

import numpy as np
import pytest
from scipy.stats import multinomial

from skfair._draws import deal_counts, redraw_counts
from skfair._rows import Rows
from skfair.groups import encode_groups
from skfair.statistics._distributions import Distributions


class Given:
    """In place of a generator: returns what was given, and keeps what was asked."""

    def __init__(self, **answers):
        self.answers = {name: iter(values) for name, values in answers.items()}
        self.asked = []

    def __getattr__(self, name):
        def answer(*args, **kwargs):
            self.asked.append((name, *args, *kwargs.values()))
            return np.array(next(self.answers[name]))

        return answer


def random_rows(seed=0, n=60, *, weighted=False, labels=False):
    rng = np.random.default_rng(seed)
    groups, strata = encode_groups(rng.integers(0, 3, n)), rng.integers(0, 2, n)
    return Rows(
        groups,
        encode_groups(strata),
        y_true=rng.integers(0, 2, n),
        y_pred=rng.integers(0, 2, n) if labels else rng.random(n).round(1),
        weight=rng.integers(1, 4, n) if weighted else None,
        classes=(0, 1),
    )


SUMS = ("counts", "totals", "sums", "means", "group_squares", "effective_sizes")
OF_LABELS = ("matrices", "label_counts")
OF_SCORES = ("scores", "codes", "weights", "counts", "totals", "squares")


def same(found, expected, names):
    """Whether two statistics hold the same numbers."""
    assert found.labels == expected.labels
    for name in names:
        both = getattr(found, name), getattr(expected, name)
        assert np.allclose(*both, atol=1e-12, rtol=0), name


def check_sums(rows):
    """Compare all sums of groups with those of single people, in another order."""
    n = np.ones(len(rows), int) if rows.n is None else rows.n
    at = np.repeat(np.arange(len(rows)), n)[::-1]
    each = None if rows.weight is None else (rows.weight / np.maximum(n, 1))[at]
    columns = rows.y_true[at], rows.y_pred[at], each
    people = Rows(rows.groups[at], None, *columns, classes=rows.classes)
    found = rows.grouped()
    same(found, people, SUMS)
    if rows.y_pred.dtype.kind == "i":
        same(found, people, OF_LABELS)
    else:
        of_people = Distributions.from_rows(people)
        same(Distributions.from_rows(rows), of_people, OF_SCORES)


def test_sums_are_those_of_single_rows():
    """By a loop over the rows."""
    rows = random_rows(weighted=True, labels=True)
    columns = rows.groups.codes, rows.y_true, rows.y_pred, rows.weight
    sums, matrices, label_counts = np.zeros(3), np.zeros((3, 2, 2)), np.zeros((3, 2))
    for group, true, predicted, weight in zip(*columns, strict=True):
        sums[group] += weight * predicted
        matrices[group, true, predicted] += weight
        label_counts[group, true] += 1
    assert rows.sums.tolist() == sums.tolist()
    assert rows.matrices.tolist() == matrices.tolist()
    assert rows.label_counts.tolist() == label_counts.tolist()
    own = [rows.weight[rows.groups.codes == group] for group in range(3)]
    kish = [part.sum() ** 2 / (part**2).sum() for part in own]
    assert rows.effective_sizes == pytest.approx(kish)
    assert np.isnan(
        Rows(encode_groups(["a"], labels=["a", "b"]), y_pred=np.ones(1)).means[1]
    )


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("labels", [False, True])
def test_statistics_of_draws_are_those_of_the_people(weighted, labels):
    rng = np.random.default_rng(1)
    rows = random_rows(weighted=weighted, labels=labels)
    cells = rows.counted()
    assert cells.n.sum() == 60
    for drawn in (
        rows,
        rows.ordered(),
        rows.ordered().permuted(rng),
        rows.resampled(rng),
        rows.ordered().resampled(rng),
        cells,
        cells.permuted(rng),
        cells.resampled(rng),
        cells.permuted(rng).resampled(rng),
    ):
        check_sums(drawn)


def test_cells_hold_the_same_people():
    rows = random_rows(weighted=True)
    cells = rows.counted()
    same(cells.grouped(), rows, SUMS)
    assert cells.weight.sum() == rows.weight.sum()
    blocks = [block for _, block in cells.split_by_stratum()]
    drawn = cells.permuted(np.random.default_rng(0), blocks)
    for block in blocks:
        before, after = cells[block], drawn[block]
        assert not np.array_equal(before.n, after.n)
        for column in (before.groups.codes, before.y_pred):
            sums = np.bincount(np.unique(column, return_inverse=True)[1], before.n)
            again = np.bincount(np.unique(column, return_inverse=True)[1], after.n)
            assert np.array_equal(sums, again)


def test_parts_know_their_positions_and_are_drawn_with_all_rows():
    rows = random_rows(weighted=True)
    (_, first), (_, second) = rows.split_by_stratum()
    assert np.array_equal(np.sort(np.append(first, second)), np.arange(60))
    part = rows[first][::-1].ordered()
    assert (np.diff(part.y_pred) >= 0).all()
    assert np.array_equal(rows.y_pred[part.position], part.y_pred)
    rng = np.random.default_rng(0)
    for drawn in (rows.permuted(rng), rows.resampled(rng)):
        same(part.drawn_as(drawn).grouped(), drawn[part.position].grouped(), SUMS)
    fewer = rows[first]
    fewer = Rows(encode_groups(fewer.groups, labels=[0, 1, 2, 3]), y_pred=fewer.y_pred)
    again = fewer.drawn_as(rows[first])
    assert again.labels == (0, 1, 2, 3)


def test_missing_rows_are_drawn_from_the_rows():
    """Six rows: 0 to 2 are of cell 1, row 3 of cell 3, rows 4 and 5 of cell 4."""
    counts = np.array([0, 3, 0, 1, 2])
    for rows, more in (
        ([2, 3, 5], [1, 1, 1]),
        ([0, 4, 4], [1, 0, 2]),
        ([2, 2, 3], [2, 1, 0]),
    ):
        generator = Given(poisson=[[2, 0, 1]], integers=[rows])
        drawn = redraw_counts(counts, generator)
        assert drawn.tolist() == [0, 2 + more[0], 0, more[1], 1 + more[2]]
        (_, rates), (_, size, missing) = generator.asked
        expected = np.array([3, 1, 2]) * (1 - 2 / math.sqrt(6))
        assert rates == pytest.approx(expected, rel=1e-14)
        assert (size, missing) == (6, 3)


def test_too_many_rows_are_drawn_again_and_many_at_once():
    counts = np.array([2, 0, 4, 0])
    generator = Given(poisson=[[4, 3], [2, 4]])
    assert redraw_counts(counts, generator).tolist() == [2, 0, 4, 0]
    assert [name for name, *_ in generator.asked] == ["poisson", "poisson"]
    generator = Given(poisson=[[1, 2]], multinomial=[[1, 2]])
    assert redraw_counts(counts, generator).tolist() == [2, 0, 4, 0]
    _, missing, shares = generator.asked[1]
    assert missing == 3
    assert shares.tolist() == [2 / 6, 4 / 6]


def test_each_group_is_dealt_from_what_is_left():
    counts = np.array([[3, 1, 0], [0, 2, 1], [2, 2, 1]])
    generator = Given(multivariate_hypergeometric=[[4, 0, 0], [1, 1, 1]])
    assert deal_counts(counts, generator).tolist() == [[4, 0, 0], [1, 1, 1], [0, 4, 1]]
    (_, cells, size, _), (_, left, second, _) = generator.asked
    assert (cells.tolist(), size) == ([5, 5, 2], 4)
    assert (left.tolist(), second) == ([1, 5, 2], 3)


def test_few_cells_are_dealt_to_many_groups():
    counts = np.array([[3, 1], [0, 2], [2, 2]])
    generator = Given(multivariate_hypergeometric=[[4, 0, 1]])
    assert deal_counts(counts, generator).tolist() == [[4, 0], [0, 2], [1, 3]]
    ((_, groups, size, _),) = generator.asked
    assert (groups.tolist(), size) == ([4, 2, 4], 5)


def test_as_many_rows_as_can_be_dealt():
    generator = np.random.default_rng(0)
    most = np.array([[10**9 - 2, 0], [0, 1]])
    assert deal_counts(most, generator).sum() == 10**9 - 1
    with pytest.raises(ValueError, match=r"fewer than 10\*\*9 rows, .* 1000000003\."):
        deal_counts(most + 1, generator)


def test_draws_of_a_group_are_rows_of_it():
    groups = encode_groups(["b", None, "a", "b", "b", None, "a"], missing="drop")
    rows = Rows(groups, weight=np.arange(1.0, 8.0))
    answers = [[0, 1, 0, 1, 2], [1, 1, 2, 2, 0]]
    generator = Given(integers=[*answers, answers[1]])
    assert rows.draw(generator).tolist() == [2, 6, 0, 3, 4]
    assert rows.draw(generator).tolist() == [6, 6, 4, 4, 0]
    assert generator.asked[0][1].tolist() == [2, 2, 3, 3, 3]
    drawn = rows.resampled(generator)
    assert drawn.n.tolist() == [1, 0, 0, 0, 2, 0, 2]
    assert drawn.weight.tolist() == [1, 0, 0, 0, 10, 0, 14]


def assert_multinomial(counts, n_draws, seed):
    """Compare frequencies of whole draws with the multinomial distribution."""
    counts, rng = np.array(counts), np.random.default_rng(seed)
    drawn = np.array([redraw_counts(counts, rng) for _ in range(n_draws)])
    assert (drawn >= 0).all()
    assert (drawn.sum(axis=1) == counts.sum()).all()
    assert not drawn[:, counts == 0].any()
    found = Counter(map(tuple, drawn.tolist()))
    expected = multinomial(counts.sum(), counts / counts.sum())
    for outcome, times in found.items():
        share = expected.pmf(outcome)
        noise = np.sqrt(share * (1 - share) / n_draws)
        assert times / n_draws == pytest.approx(share, abs=5 * noise + 2 / n_draws)


@pytest.mark.slow
@pytest.mark.parametrize("counts", [[2, 1], [0, 3, 2, 0]])
def test_draws_are_multinomial(counts):
    assert_multinomial(counts, 2000, seed=0)
