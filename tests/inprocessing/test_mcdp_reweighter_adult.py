"""On rows of Adult that training has not seen, within the noise of one split."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skfair.datasets import fetch_adult
from skfair.inprocessing import MCDPReweighter
from skfair.metrics import mcdp


@pytest.fixture(scope="module")
def adult(shared_data):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SKFAIR_DATA", str(shared_data))
        table = fetch_adult()
    X = pd.get_dummies(table.data.drop(columns=["fnlwgt", "sex"]), dtype=float)
    y, sex = (table.target == ">50K").to_numpy(), table.data["sex"].to_numpy()
    X, _, y, _, sex, _ = train_test_split(
        X, y, sex, train_size=16_000, stratify=y, random_state=0
    )
    return train_test_split(X, y, sex, test_size=0.5, stratify=y, random_state=0)


@pytest.mark.slow
def test_gap_and_average_precision(adult):
    X, X_test, y, y_test, sex, sex_test = adult
    inner = make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=300))
    found = []
    for strength in (0.0, 0.2, 0.4):
        model = MCDPReweighter(inner, strength=strength)
        scores = model.fit(X, y, sensitive_features=sex).predict_proba(X_test)[:, 1]
        quality = average_precision_score(y_test, scores)
        found.append((quality, mcdp(None, scores, sensitive_features=sex_test)))
    quality, gaps = np.array(found).T
    assert (np.diff(gaps) < 0).all()
    assert gaps[0] > 0.3
    assert gaps[1] < 0.22
    assert gaps[2] < 0.13
    assert quality[1] > 0.97 * quality[0]
    assert quality[2] > 0.92 * quality[0]
