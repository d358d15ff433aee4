"""On rows of Adult that training has not seen, within the noise of one split."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skfair.inprocessing import DiffMCDPClassifier, MCDPReweighter
from skfair.metrics import mcdp


@pytest.mark.slow
def test_reweighter_on_half_of_16000_rows(adult):
    X, y, sex = adult
    X, _, y, _, sex, _ = train_test_split(
        pd.get_dummies(X, dtype=float),
        y,
        sex,
        train_size=16_000,
        stratify=y,
        random_state=0,
    )
    X, X_test, y, y_test, sex, sex_test = train_test_split(
        X, y, sex, test_size=0.5, stratify=y, random_state=0
    )
    inner = make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=300))
    found = []
    model = MCDPReweighter(inner, strength=0.3).fit(X, y, sensitive_features=sex)
    for strength in (0.0, 0.3, 0.6):
        scores = model.with_strength(strength, X).predict_proba(X_test)[:, 1]
        quality = average_precision_score(y_test, scores)
        found.append((quality, mcdp(None, scores, sensitive_features=sex_test)))
    quality, gaps = np.array(found).T
    assert (np.diff(gaps) < 0).all()
    assert gaps[0] > 0.3
    assert gaps[1] < 0.2
    assert gaps[2] < 0.11
    assert quality[1] > 0.96 * quality[0]
    assert quality[2] > 0.91 * quality[0]


@pytest.mark.slow
def test_network_reaches_the_figures_of_the_paper(adult, gap):
    """AP and MCDP(0) of the paper's Table 1, on new rows, without sex in prediction."""
    X, y, sex = adult
    X = X.copy()
    numbers = X.select_dtypes("number").columns
    X[numbers] = StandardScaler().fit_transform(X[numbers])
    parts = train_test_split(
        pd.get_dummies(X, dtype=float).astype("float32"),
        y,
        sex,
        train_size=0.4,
        random_state=0,
    )
    train, y, sex = parts[::2]
    test, test_y, test_sex = parts[1::2]
    model = DiffMCDPClassifier(strength=0.4, random_state=0)
    model.fit(train, y, sensitive_features=sex)
    assert average_precision_score(test_y, model.predict_proba(test)[:, 1]) > 0.739
    assert gap(model, test, test_sex) < 0.115
