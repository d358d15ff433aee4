"""Objects that another version of skfair pickled say so when they are unpickled."""

import copy
import pickle
import sys
import warnings
from functools import cache

import joblib
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.linear_model import LogisticRegression

import skfair
from skfair.exceptions import InconsistentVersionWarning as OfSkfair
from skfair.exceptions import MitigationWarning
from skfair.inspection import TradeOffDisplay
from skfair.metrics import bootstrap_interval, mcdp
from skfair.postprocessing import MADDPostProcessor, ScoreRepairer

SCORES, SEX = np.arange(24) / 24, np.array(["F", "M", "M"] * 8)
X, Y = SCORES[:, None], np.arange(24) % 2


@cache
def made(kind):
    given = {"sensitive_features": SEX}
    if kind == "mitigator":
        model = MADDPostProcessor(LogisticRegression(), cv=2, repair_level=1.0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MitigationWarning)
            return model.fit(X, Y, **given)
    if kind == "repairer":
        return ScoreRepairer().fit(SCORES, **given)
    if kind == "display":
        candidates = pd.DataFrame({"performance": [0.8], "fairness": [-0.1]})
        names = {"performance": "accuracy", "fairness": "neg_mcdp"}
        return TradeOffDisplay(candidates=candidates, front=[0], **names)
    return bootstrap_interval(mcdp, None, SCORES, **given, n_resamples=3)


KINDS = ["mitigator", "repairer", "display", "result"]


@pytest.mark.parametrize("kind", KINDS)
def test_another_version_is_warned_of(kind, monkeypatch):
    one = made(kind)
    pickled = pickle.dumps(one)
    assert type(pickle.loads(pickled)) is type(one)  # without a warning
    monkeypatch.setattr(skfair, "__version__", "9.8.7")
    name = type(one).__name__
    with pytest.warns(InconsistentVersionWarning) as caught:
        loaded = pickle.loads(pickled)
    warning = caught[-1].message  # those of what it contains come before
    assert isinstance(warning, OfSkfair)
    assert str(warning).startswith(f"{name} was pickled by the version 0.")
    assert warning.estimator_name == name
    assert warning.current_skfair_version == "9.8.7"
    if sys.version_info >= (3, 12):
        assert caught[-1].filename == __file__
    assert {*vars(loaded)} == {*vars(one)}
    assert type(pickle.loads(pickle.dumps(loaded))) is type(one)


@pytest.mark.parametrize("kind", KINDS)
def test_a_state_without_a_version_is_warned_of(kind):
    one = made(kind)
    state = one.__getstate__()
    assert state.pop("_skfair_version") == skfair.__version__
    empty = type(one).__new__(type(one))
    with pytest.warns(OfSkfair, match="pickled by the version unknown of skfair"):
        empty.__setstate__(state)
    assert {*vars(empty)} == {*vars(one)}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_copies_are_of_this_version(kind, copied):
    one = made(kind)
    assert {*vars(copied(one))} == {*vars(one)}


def check_loaded(load):
    """Check that a model is loaded with a warning, and predicts as before."""
    with pytest.warns(OfSkfair):
        loaded = load()
    expected = made("mitigator").predict_proba(X, sensitive_features=SEX)
    assert_array_equal(loaded.predict_proba(X, sensitive_features=SEX), expected)
    return loaded


@pytest.mark.slow  # skops takes a second to be imported
def test_files_of_skops_say_so_too(tmp_path, monkeypatch):
    io = pytest.importorskip("skops.io", reason="the extra skops")
    file = tmp_path / "model.skops"
    io.dump(made("mitigator"), file)
    types = io.get_untrusted_types(file=file)
    monkeypatch.setattr(skfair, "__version__", "9.8.7")
    check_loaded(lambda: io.load(file, trusted=types))


def test_files_of_joblib_say_so_too(tmp_path, monkeypatch):
    model, file = made("mitigator"), tmp_path / "model.joblib"
    joblib.dump(model, file)
    monkeypatch.setattr(skfair, "__version__", "9.8.7")
    loaded = check_loaded(lambda: joblib.load(file))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert clone(loaded).get_params().keys() == model.get_params().keys()
