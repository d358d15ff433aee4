"""Fitted estimators are saved and loaded without pickle, by skops."""

import lightgbm
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.linear_model import LogisticRegression, Ridge

from skfair.groups import encode_groups
from skfair.inprocessing import (
    DiffMCDPClassifier,
    MCDPBoostingClassifier,
    MCDPReweighter,
)
from skfair.postprocessing import (
    MADDPostProcessor,
    RepairedRegressor,
    ScoreRepairer,
    UnawarePostProcessor,
    UnawareRegressor,
)

ESTIMATORS = [
    MCDPReweighter(LogisticRegression(), strength=0.5, cv=2),
    DiffMCDPClassifier(hidden_layer_sizes=4, max_iter=5),
    MCDPBoostingClassifier(
        lightgbm.LGBMClassifier(n_estimators=3, n_jobs=1, verbose=-1)
    ),
    MADDPostProcessor(LogisticRegression(), cv=2),
    MADDPostProcessor(LogisticRegression(), cv=2, max_mcdp=0.1),
    UnawarePostProcessor(
        LogisticRegression(), group_estimator=LogisticRegression(), strength=0.5, cv=2
    ),
    RepairedRegressor(Ridge(), cv=2),
    UnawareRegressor(Ridge(), group_estimator=LogisticRegression(), strength=0.5, cv=2),
    ScoreRepairer(max_mcdp=0.1),
]


@pytest.mark.slow  # skops takes a second to be imported
@pytest.mark.parametrize("model", ESTIMATORS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("in_strata", [False, True])
@pytest.mark.filterwarnings("ignore::skfair.exceptions.MitigationWarning")
@pytest.mark.promise("Fitted estimators are saved and loaded by skops")
def test_dumped_and_loaded(model, in_strata, make_people):
    X, y, sex = make_people(300)
    office = (
        pd.Series(np.arange(300) % 2).map({0: "in", 1: "out"}) if in_strata else None
    )
    groups = encode_groups(sex.where(np.arange(300) > 5, None), missing="drop")
    given = {"sensitive_features": groups, "control_features": office}
    model = clone(model)
    if is_classifier(model):
        method = "predict_proba"
        keywords = given if isinstance(model, MADDPostProcessor) else {}
    elif is_regressor(model):
        y, method = X["skill"], "predict"
        keywords = given if isinstance(model, RepairedRegressor) else {}
    else:
        X, method, keywords = (
            1 / (1 + np.exp(-X["skill"] - X["proxy"])),
            "transform",
            given,
        )
    model.fit(X, y, **given)
    io = pytest.importorskip("skops.io", reason="the extra skops")
    dumped = io.dumps(model)
    types = io.get_untrusted_types(data=dumped)
    assert not [name for name in types if name.startswith("pandas")]
    loaded = io.loads(dumped, trusted=types)
    expected = getattr(model, method)(X, **keywords)
    assert_array_equal(getattr(loaded, method)(X, **keywords), expected)
    for name in ("history_", "losses_", "path_"):
        if hasattr(model, name):
            tables = (pd.DataFrame(getattr(each, name)) for each in (loaded, model))
            pd.testing.assert_frame_equal(*tables)
    assert loaded.groups_ == model.groups_
    if isinstance(model, UnawarePostProcessor):
        assert_array_equal(
            loaded.with_strength(0.2).predict_proba(X),
            model.with_strength(0.2).predict_proba(X),
        )
