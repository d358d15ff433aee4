import numpy as np
from numpy.testing import assert_array_equal

from skfair.groups import encode_groups
from skfair.postprocessing._held_out import stratified_folds


def test_stratified_folds():
    generator = np.random.default_rng(0)
    y, sex = generator.integers(0, 2, 103), generator.integers(0, 3, 103)
    groups = encode_groups(sex)
    folds = list(stratified_folds(y, groups, 4, None))
    assert_array_equal(np.sort(np.concatenate([test for _, test in folds])), range(103))
    for label in (0, 1):
        for group in range(3):
            both = (y == label) & (sex == group)
            sizes = [both[test].sum() for _, test in folds]
            assert max(sizes) - min(sizes) <= 1
    again, other = (
        [test for _, test in stratified_folds(y, groups, 4, seed)] for seed in (1, 1)
    )
    assert all(np.array_equal(a, b) for a, b in zip(again, other, strict=True))
    assert not np.array_equal(again[0], folds[0][1])
