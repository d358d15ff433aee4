import numpy as np
import pandas as pd
import pytest

from skfair.datasets import fetch_oulad

# fmt: off
FEATURES_AND_TARGET = [
    "gender", "highest_education", "poverty", "age", "disability",
    "num_of_prev_attempts", "studied_credits", "sum_click", "final_result",
]
# fmt: on
PROBABILITIES = ["proba_DT", "proba_KN", "proba_LR", "proba_NB"]
OULAD_COLUMNS = [*FEATURES_AND_TARGET, "split", *PROBABILITIES]


def test_oulad_keeps_predictions_out_of_the_features(local_data):
    dataset = fetch_oulad()
    assert dataset.feature_names == OULAD_COLUMNS[:8]
    assert dataset.target.tolist() == [0, 1]
    assert dataset.split.tolist() == ["train", "test"]
    assert list(dataset.probabilities.columns) == PROBABILITIES
    assert dataset.probabilities.isna().all(axis=1).tolist() == [True, False]
    assert dataset.probabilities.index.equals(dataset.data.index)
    arrays = fetch_oulad(as_frame=False)
    np.testing.assert_array_equal(arrays.probabilities[1], [1.0, 0.8, 0.7, 0.9])
    assert "MIXED ARRAYS" in dataset.DESCR


def test_oulad_of_ones_own_needs_no_predictions(local_data):
    path = local_data / "oulad_madd_bbb.csv.gz"
    table = pd.read_csv(path)[OULAD_COLUMNS[:9]]
    table.to_csv(local_data / "oulad_madd_fff.csv.gz", index=False)
    dataset = fetch_oulad(course="FFF", data_home=local_data)
    assert "split" not in dataset
    assert "probabilities" not in dataset
    assert "course FFF" in dataset.DESCR


def test_oulad_tells_where_to_get_the_data():
    with pytest.raises(FileNotFoundError, match=r"analyse\.kmi\.open\.ac\.uk") as error:
        fetch_oulad()
    assert "num_of_prev_attempts" in str(error.value)


def test_oulad_unknown_course():
    with pytest.raises(ValueError, match="course must be 'BBB' or 'FFF', got 'AAA'"):
        fetch_oulad(course="AAA")
