"""scikit-learn's own checks of estimators, none of which is expected to fail."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from skfair.inprocessing import DiffMCDPClassifier, MCDPReweighter


class ParityOfSum:
    """Groups that do not depend on other rows, for data of any kind."""

    def __call__(self, X):
        X = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
        finite = np.nan_to_num(X.astype(float), posinf=0, neginf=0)
        return finite.sum(axis=1) * 7 % 2 >= 1

    def __repr__(self):
        return "ParityOfSum()"


REWEIGHTERS = [
    MCDPReweighter(LogisticRegression()),
    *(
        MCDPReweighter(
            LogisticRegression(),
            sensitive_features=ParityOfSum(),
            form=form,
            max_iter=3,
        )
        for form in ("two_label", "sample_weight")
    ),
]
# Near a gap of 0, where it has a kink, rounding grows from step to step: the checks
# that compare two fits by rounding need few steps.
NETWORKS = [
    DiffMCDPClassifier(max_iter=200),
    DiffMCDPClassifier(
        sensitive_features=ParityOfSum(), max_iter=30, learning_rate_init=0.01
    ),
]


@pytest.mark.filterwarnings("ignore:MCDPReweighter has no sensitive:UserWarning")
@pytest.mark.filterwarnings("ignore:DiffMCDPClassifier has no sensitive:UserWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
@parametrize_with_checks([*REWEIGHTERS, *NETWORKS], xfail_strict=True)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
