"""Sum of many tables, and what cannot be added."""

import numpy as np
import pandas as pd
import pytest

from skfair.metrics import mcdp
from skfair.monitoring import FairnessMonitor
from skfair.statistics import CountTable, sum_tables


def test_each_takes_part_in_few_additions(monkeypatch):
    sizes = []
    add = CountTable.__add__

    def count(first, second):
        sizes.append(len(first) + len(second))
        return add(first, second)

    monkeypatch.setattr(CountTable, "__add__", count)
    scores = np.random.default_rng(0).random((64, 10))
    sum_tables(
        CountTable.from_rows(None, row, sensitive_features=[0, 1] * 5) for row in scores
    )
    assert sum(sizes) == scores.size * 6


def test_what_is_no_table():
    table = CountTable.from_rows(None, [0, 1], sensitive_features=[0, 1])
    with pytest.raises(ValueError, match="is empty"):
        sum_tables([])
    with pytest.raises(TypeError, match="got a int"):
        sum_tables([table, 3])
    with pytest.raises(TypeError):
        sum([table], start=1)


def test_columns_of_other_names():
    """Groups by sex and by district would be groups of one attribute."""
    people = pd.DataFrame({"sex": list("FMFM"), "district": list("nsns")})
    by_sex, by_district, unnamed = (
        CountTable.from_rows(None, [0.1, 0.2, 0.6, 0.9], sensitive_features=groups)
        for groups in (people["sex"], people["district"], list("FMFM"))
    )
    with pytest.warns(UserWarning, match="the columns 'sex' and 'district' are added"):
        by_sex + by_district
    assert (by_sex + by_sex).names == ("sex",)
    assert (by_sex + unnamed).names == ()
    monitor = FairnessMonitor(mcdp, min_group_size=1)
    monitor.update(None, by_sex)
    with pytest.warns(UserWarning, match="the columns 'sex' and 'district' are added"):
        monitor.update(None, by_district)
