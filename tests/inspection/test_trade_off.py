import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

from skfair.datasets import make_biased_classification
from skfair.inspection import TradeOffDisplay
from skfair.metrics import get_fairness_scorer
from skfair.model_selection import BestUnder, FairestWithin, pareto_front

RULE = FairestWithin("ap", "neg_mcdp")


@pytest.fixture
def cv_results():
    """Five candidates: 0, 1 and 3 are the front, 4 is undefined."""
    return {
        "params": [{"model__C": c, "model__penalty": "l2"} for c in range(5)],
        "mean_test_ap": np.array([0.80, 0.78, 0.77, 0.60, np.nan]),
        "std_test_ap": np.array([0.01, 0.02, 0.03, 0.04, 0.05]),
        "mean_test_neg_mcdp": np.array([-0.4, -0.2, -0.3, -0.1, -0.1]),
        "std_test_neg_mcdp": np.array([0.05, 0.04, 0.03, 0.02, 0.01]),
    }


@pytest.fixture(scope="module")
def search():
    X, y = make_biased_classification(
        400, group_sizes={"sex": {0: 0.4, 1: 0.6}}, random_state=0
    )
    fairness = get_fairness_scorer("neg_mcdp", sensitive_features="sex")
    return GridSearchCV(
        LogisticRegression(),
        {"C": [1e-4, 0.01, 1]},
        scoring={"ap": "average_precision", "neg_mcdp": fairness},
        refit=RULE,
        cv=3,
    ).fit(X, y)


def test_what_is_drawn(cv_results):
    display = TradeOffDisplay.from_cv_results(cv_results, rule=RULE)
    assert_array_equal(display.points_.get_xydata(), [[0.3, 0.77]])
    assert_array_equal(
        display.front_line_.get_xydata(), [[0.1, 0.6], [0.2, 0.78], [0.4, 0.8]]
    )
    # What can be had between two steps is what the fairer one has.
    assert display.front_line_.get_drawstyle() == "steps-post"
    assert_array_equal(display.chosen_point_.get_xydata(), [[0.2, 0.78]])
    assert_allclose(display.tolerance_line_.get_ydata(), 0.95 * 0.8)
    assert display.limit_line_ is None
    across, up = (bars.get_segments() for bars in display.spreads_[2])
    assert_allclose(across[1], [[0.16, 0.78], [0.24, 0.78]])
    assert_allclose(up[3], [[0.1, 0.56], [0.1, 0.64]])
    assert len(across) == len(up) == 4
    front = pareto_front(cv_results, ["ap", "neg_mcdp"])
    assert display.front == front.index.tolist()
    assert display.figure_ is display.ax_.figure


@pytest.mark.slow
def test_texts(cv_results, legend_texts):
    display = TradeOffDisplay.from_cv_results(cv_results, rule=RULE, name="A $search$")
    assert legend_texts(display.ax_) == [
        "Candidates not on the front (1)",
        "Pareto front (3)",
        "Within the tolerance: at least 0.76",
        "Chosen\n  C = 1\n  penalty = l2",
        "Standard deviation over folds",
    ]
    heading = display.ax_.get_legend().get_title().get_text()
    assert heading == "4 candidates, 1 not drawn"
    assert display.ax_.get_xlabel() == "mcdp, held-out rows (smaller is fairer)"
    assert display.ax_.get_ylabel() == "ap, held-out rows"
    assert display.ax_.get_title() == r"A \$search\$"
    assert display.plot(name="Other").ax_.get_title() == "Other"


@pytest.mark.slow
def test_params_that_share_a_last_name_keep_their_path(cv_results, legend_texts):
    cv_results["params"] = [
        {"a__depth": i, "b__depth": 0.1 + 0.2, **dict.fromkeys("cdefg", "$x$" * 30)}
        for i in range(5)
    ]
    display = TradeOffDisplay.from_cv_results(cv_results, rule=RULE)
    lines = legend_texts(display.ax_)[3].split("\n")
    assert lines[1:3] == ["  a__depth = 1", "  b__depth = 0.3"]
    assert len(lines[3]) < 80
    assert lines[-1] == "  and 1 more"


def test_limit(cv_results):
    rule = BestUnder("ap", "neg_mcdp", limit=0.3)
    display = TradeOffDisplay.from_cv_results(pd.DataFrame(cv_results), rule=rule)
    assert_array_equal(display.limit_line_.get_xdata(), [0.3, 0.3])
    assert display.tolerance_line_ is None
    assert_array_equal(display.chosen_point_.get_xydata(), [[0.2, 0.78]])


def test_scores_that_are_no_negated_disparity(cv_results):
    cv_results["mean_test_ratio"] = 1 + cv_results["mean_test_neg_mcdp"]
    cv_results["std_test_ratio"] = cv_results["std_test_neg_mcdp"]
    display = TradeOffDisplay.from_cv_results(
        cv_results, performance="ap", fairness="ratio"
    )
    assert display.ax_.xaxis_inverted()
    assert display.ax_.get_xlabel() == "ratio, held-out rows (larger is fairer)"
    assert_allclose(display.front_line_.get_xdata(), [0.9, 0.8, 0.6])
    assert display.chosen_point_ is None


@pytest.mark.slow
def test_search(search):
    display = TradeOffDisplay.from_cv_results(search)
    assert display.best_index == search.best_index_
    assert display.min_performance == RULE.min_performance(search.cv_results_)
    assert display.best_params == search.best_params_
    other = TradeOffDisplay.from_cv_results(search, rule=BestUnder("ap", limit=1))
    assert other.best_index == search.cv_results_["mean_test_ap"].argmax()
    named = TradeOffDisplay.from_cv_results(
        search, performance="neg_mcdp", fairness="ap"
    )
    assert named.best_index == search.best_index_
    assert named.min_performance is None
    marked = TradeOffDisplay.from_cv_results(
        search, performance="ap", fairness="neg_mcdp", best_index=2
    )
    assert marked.best_params == {"C": 1}


@pytest.mark.slow
def test_without_standard_deviations(cv_results, legend_texts):
    means = {k: v for k, v in cv_results.items() if not k.startswith("std_")}
    display = TradeOffDisplay.from_cv_results(means, rule=RULE)
    full = TradeOffDisplay.from_cv_results(cv_results, rule=RULE)
    for line in ("points_", "front_line_", "chosen_point_"):
        assert_array_equal(
            getattr(display, line).get_xydata(), getattr(full, line).get_xydata()
        )
    assert display.spreads_ is None
    spread = "Standard deviation over folds"
    assert spread in legend_texts(full.ax_)
    assert spread not in legend_texts(display.ax_)


@pytest.mark.slow
def test_many_candidates():
    generator = np.random.default_rng(0)
    means = generator.random((2, 3000))
    cv_results = {
        "mean_test_ap": means[0],
        "std_test_ap": means[0] / 20,
        "mean_test_neg_mcdp": -means[1],
        "std_test_neg_mcdp": means[1] / 20,
    }
    display = TradeOffDisplay.from_cv_results(cv_results, rule=RULE)
    display.figure_.canvas.draw()
    n_drawn = len(display.points_.get_xdata()) + len(display.front_line_.get_xdata())
    assert n_drawn == 3000
    assert display.best_params is None


def test_errors(cv_results):
    make = TradeOffDisplay.from_cv_results
    with pytest.raises(
        ValueError,
        match=r"must name metrics of the search .*; it has \['.*', '.*'\]\.$",
    ):
        make(cv_results)
    with pytest.raises(ValueError, match=r"'auc', it has \['ap', 'neg_mcdp'\]"):
        make(cv_results, performance="auc", fairness="neg_mcdp")
    with pytest.raises(ValueError, match="must be the cv_results_ of a search"):
        make([1, 2], rule=RULE)
    with pytest.raises(ValueError, match="best_index must be None beside a rule"):
        make(cv_results, rule=RULE, best_index=1)
    with pytest.raises(ValueError, match="must be a FairestWithin or a BestUnder"):
        make(cv_results, rule="fairest")
    with pytest.raises(ValueError, match=r"has the fairness scores .*, expected one"):
        make(cv_results, rule=FairestWithin("ap", ["neg_mcdp", "neg_madd"]))
    for wrong in (5, -1, 1.0):
        with pytest.raises(
            ValueError, match=r"best_index must be an integer in \[0, 4"
        ):
            make(cv_results, performance="ap", fairness="neg_mcdp", best_index=wrong)
    cv_results["mean_test_ap"][:] = np.nan
    with pytest.raises(ValueError, match="No candidate has finite scores in both"):
        make(cv_results, rule=RULE)
