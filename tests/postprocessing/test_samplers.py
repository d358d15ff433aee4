"""Samplers of imbalanced-learn in a pipeline with a mitigator."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_validate

from skfair.datasets import make_biased_classification
from skfair.metrics import get_fairness_scorer, mcdp
from skfair.postprocessing import MADDPostProcessor

over_sampling = pytest.importorskip("imblearn.over_sampling")
pipeline = pytest.importorskip("imblearn.pipeline")


@pytest.mark.filterwarnings("ignore::skfair.exceptions.MitigationWarning")
@pytest.mark.parametrize("in_front", [True, False])
def test_groups_survive_a_sampler(in_front):
    X, y = make_biased_classification(
        600,
        group_sizes={"sex": {"F": 0.4, "M": 0.6}},
        base_rates={"sex": {"F": 0.1, "M": 0.3}},
        random_state=0,
    )
    X["sex"] = (X["sex"] == "F") * 1
    sampler = over_sampling.RandomOverSampler(random_state=0)
    if in_front:
        model = MADDPostProcessor(LogisticRegression(), sensitive_features="sex")
        model = pipeline.make_pipeline(sampler, model)
    else:
        sampled = pipeline.make_pipeline(sampler, LogisticRegression())
        model = MADDPostProcessor(sampled, sensitive_features="sex")
    gaps = []
    for classifier in (model, LogisticRegression()):
        scores = classifier.fit(X, y).predict_proba(X)[:, 1]
        gaps.append(mcdp(None, scores, sensitive_features=X["sex"]))
    assert gaps[0] < gaps[1]
    scoring = get_fairness_scorer("neg_mcdp", sensitive_features="sex")
    found = cross_validate(model, X, y, scoring=scoring, error_score="raise", cv=3)
    assert np.isfinite(found["test_score"]).all()
