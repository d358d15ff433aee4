"""A metric of the report that lacks one of its parts is an error that names it."""

from dataclasses import MISSING, fields

import numpy as np
import pytest

from skfair.report._metrics import MEASURES, QUESTIONS, Measure

PARTS = [
    part.name
    for part in fields(Measure)
    if part.default is MISSING and part.default_factory is MISSING
]


@pytest.mark.parametrize("part", PARTS)
def test_a_row_without_a_part_is_an_error(part):
    given = {name: getattr(MEASURES["mcdp"], name) for name in PARTS if name != part}
    with pytest.raises(TypeError, match=f"missing 1 required .*: '{part}'"):
        Measure(**given)


def test_every_part_is_asked_for():
    needed = "key", "title", "question", "metric", "definition", "sentence"
    assert {*needed, "unit", "rank"} == set(PARTS)


@pytest.mark.parametrize("question", QUESTIONS)
def test_answers_have_an_order(question):
    ranks = [one.rank for one in MEASURES.values() if one.question == question]
    ordered = [rank for rank in ranks if rank is not None]
    assert sorted(ordered) == list(range(1, len(ordered) + 1))


@pytest.mark.slow
@pytest.mark.parametrize("n_groups", [1, 2, 12])
def test_no_value_is_negative(make_report, n_groups):
    groups = np.arange(240) % n_groups
    report = make_report(
        np.arange(240) // n_groups % 2,
        np.full(240, 0.5),
        sensitive_features=groups,
        n_resamples=1,
    )
    values = report.to_frame()["value"].to_numpy()
    expected = np.nan if n_groups == 1 else 0.0
    np.testing.assert_array_equal(values, np.full(len(values), expected))
