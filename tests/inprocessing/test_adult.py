"""On rows of Adult that training has not seen, within the noise of one split."""

import pandas as pd
import pytest
from sklearn.metrics import average_precision_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from skfair.inprocessing import DiffMCDPClassifier


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
