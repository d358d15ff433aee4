import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skfair.metrics import mcdp, mcdp_curve


def at(curve, epsilon):
    """Value of the step function that a curve describes."""
    epsilons, values = curve
    return values[np.searchsorted(epsilons, epsilon, side="right") - 1]


def assert_is_mcdp_everywhere(y_score, groups, epsilons, **options):
    options = {"sensitive_features": groups, **options}
    curve = mcdp_curve(None, y_score, **options)
    breaks = np.append(curve[0], 1)
    middles = (breaks[:-1] + breaks[1:]) / 2
    for epsilon in np.concatenate([breaks, middles, epsilons]):
        value = mcdp(None, y_score, epsilon=float(epsilon), **options)
        assert at(curve, epsilon) == pytest.approx(value, abs=1e-15), epsilon


@st.composite
def dyadic_rows(draw, n_groups=2):
    n_rows = draw(st.integers(n_groups, 14))
    size = {"min_size": n_rows, "max_size": n_rows}
    scores = draw(st.lists(st.integers(0, 64), **size))
    groups = draw(st.lists(st.integers(0, n_groups - 1), **size))
    groups[:n_groups] = range(n_groups)
    return np.array(scores) / 64, np.array(groups)


@given(
    st.sampled_from([2, 4]).flatmap(dyadic_rows),
    st.integers(0, 256),
    st.sampled_from(["pairwise", "pooled"]),
)
def test_curve_is_mcdp_at_breaks_and_between(rows, k, multigroup):
    assert_is_mcdp_everywhere(*rows, [k / 256], multigroup=multigroup)


@given(dyadic_rows())
def test_curve_starts_at_zero_and_decreases_strictly(rows):
    y_score, groups = rows
    epsilons, values = mcdp_curve(None, y_score, sensitive_features=groups)
    assert epsilons[0] == 0
    assert (np.diff(epsilons) > 0).all()
    assert (np.diff(values) < 0).all()
    assert epsilons[-1] <= 1
    assert 0 <= values[-1] <= values[0] <= 1


def test_curve_agrees_with_mcdp_where_decimal_lengths_round():
    # Between k/100 and 2k/100 there is a gap of 1: of the very length 2 epsilon.
    for k in range(1, 50):
        y_score, groups, epsilon = [k / 100, 2 * k / 100], [0, 1], k / 200
        curve = mcdp_curve(None, y_score, sensitive_features=groups)
        value = mcdp(None, y_score, sensitive_features=groups, epsilon=epsilon)
        assert at(curve, epsilon) == value


def test_curve_of_equal_distributions_is_zero():
    curve = mcdp_curve(None, [0.25, 0.75] * 2, sensitive_features=[0, 0, 1, 1])
    assert [part.tolist() for part in curve] == [[0], [0]]


#: Scores whose differences round: decimals, sums of decimals, thirds and sevenths.
ROUNDED = [0, 0.1, 0.2, 0.1 + 0.2, 0.3, 1 / 3, 0.4, 3 / 7, 0.6, 5 / 7, 0.7, 0.8, 1]
ROUNDED += [0.3 - 1e-16, 0.5 - 1e-15, 0.5 + 3e-16, 0.55, 1e-16, 1 - 2**-53]


@pytest.mark.slow
@given(st.data())
@pytest.mark.promise("`mcdp_curve` is `mcdp` at every epsilon")
def test_curve_is_mcdp_at_every_epsilon_however_scores_round(data):
    score = st.one_of(st.sampled_from(ROUNDED), st.floats(0, 1))
    scores = data.draw(st.lists(score, min_size=2, max_size=8))
    groups = np.arange(len(scores)) % 2
    first, second = (data.draw(st.sampled_from(scores)) for _ in range(2))
    meeting = abs(first - second) / 2
    steps = mcdp_curve(None, scores, sensitive_features=groups)[0]
    epsilons = [meeting, abs(first - second), *steps, data.draw(st.floats(0, 1))]
    epsilons = np.concatenate([np.nextafter(epsilons, end) for end in (0, 1)])
    around = np.clip([*epsilons, meeting, *(epsilons + 2**-52)], 0, 1)
    assert_is_mcdp_everywhere(scores, groups, around)
