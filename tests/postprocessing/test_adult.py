"""On rows that neither model nor repair has seen, within the noise of one split."""

import numpy as np
import pandas as pd
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skfair.datasets import fetch_adult
from skfair.metrics import mcdp
from skfair.postprocessing import MADDPostProcessor


@pytest.fixture(scope="module")
def splits(shared_data):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SKFAIR_DATA", str(shared_data))
        adult = fetch_adult()
    X = pd.get_dummies(adult.data.drop(columns=["fnlwgt", "sex"]), dtype=float)
    y, sex = (adult.target == ">50K").to_numpy(), adult.data["sex"]
    rest, test = train_test_split(
        np.arange(len(y)), test_size=0.3, stratify=y, random_state=0
    )
    train, validation = train_test_split(
        rest, test_size=3 / 7, stratify=y[rest], random_state=0
    )
    return [
        (X.iloc[rows], y[rows], sex.iloc[rows]) for rows in (train, validation, test)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("frozen", [True, False])
def test_full_repair(splits, frozen):
    train, validation, (X, y, sex) = splits
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
    plain = model.fit(*train[:2]).predict_proba(X)[:, 1]
    fair = MADDPostProcessor(
        FrozenEstimator(model) if frozen else model, repair_level=1.0, cv=3
    )
    rows = validation if frozen else train
    fair.fit(*rows[:2], sensitive_features=rows[2])
    repaired = fair.predict_proba(X, sensitive_features=sex)[:, 1]
    assert mcdp(y, plain, sensitive_features=sex) > 0.3
    assert mcdp(y, repaired, sensitive_features=sex) < 0.04
    lost = average_precision_score(y, plain) - average_precision_score(y, repaired)
    assert lost < 0.08
