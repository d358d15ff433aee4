"""scikit-learn's own checks of estimators, none of which is expected to fail."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import (
    check_get_params_invariance,
    check_parameters_default_constructible,
    check_set_params,
    parametrize_with_checks,
)

from skfair.postprocessing import MADDPostProcessor, ScoreRepairer


class ParityOfSum:
    """Groups that do not depend on other rows, for data of any kind."""

    def __call__(self, X):
        X = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
        finite = np.nan_to_num(X.astype(float), posinf=0, neginf=0)
        return finite.sum(axis=1) * 7 % 2 >= 1

    def __repr__(self):
        return "ParityOfSum()"


PLAIN = MADDPostProcessor(LogisticRegression())
REPAIRED = MADDPostProcessor(
    LogisticRegression(),
    sensitive_features=ParityOfSum(),
    unknown_groups="pooled",
    cv=2,
)


@pytest.mark.filterwarnings("ignore:MADDPostProcessor has no sensitive:UserWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
@parametrize_with_checks([PLAIN, REPAIRED], xfail_strict=True)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# An estimator of one-dimensional input is not checked any further by scikit-learn.
@pytest.mark.parametrize(
    "check",
    [
        check_get_params_invariance,
        check_parameters_default_constructible,
        check_set_params,
    ],
)
def test_scikit_learn_checks_of_parameters(check):
    check("ScoreRepairer", ScoreRepairer())
