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

from skfair.metrics import mcdp
from skfair.postprocessing import MADDPostProcessor


@pytest.fixture(scope="module")
def splits(adult):
    X, y, sex = adult
    X = pd.get_dummies(X, dtype=float)
    rest, test = train_test_split(
        np.arange(len(y)), test_size=0.3, stratify=y, random_state=0
    )
    train, validation = train_test_split(
        rest, test_size=3 / 7, stratify=y[rest], random_state=0
    )
    return [(X.iloc[rows], y[rows], sex[rows]) for rows in (train, validation, test)]


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
