import numpy as np
import pandas as pd
import pytest

try:
    import matplotlib
except ModuleNotFoundError:
    collect_ignore_glob = ["test_*.py"]
else:
    matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def close_figures():
    import matplotlib.pyplot as plt

    before = dict(matplotlib.rcParams)
    yield
    plt.close("all")
    assert dict(matplotlib.rcParams) == before


@pytest.fixture(autouse=True)
def placed(monkeypatch):
    """Leave out the layout of figures, which takes longer than all else.

    The files that test it have a fixture of this name that leaves everything alone.
    """
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    monkeypatch.setattr(ConstrainedLayoutEngine, "execute", lambda self, figure: None)


@pytest.fixture(scope="session")
def scored(make_scored_people):
    """True classes, scores and sex of 300 people."""
    y_true, y_score, people = make_scored_people(300)
    return y_true, y_score, people["sex"].to_numpy()


@pytest.fixture(scope="session")
def fitted():
    """A classifier, its input with a column `sex`, and its labels."""
    from sklearn.compose import make_column_transformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    generator = np.random.default_rng(1)
    X = pd.DataFrame(
        {
            "sex": np.where(generator.random(300) < 0.4, "F", "M"),
            "race": np.where(generator.random(300) < 0.5, "x", "y"),
            "age": generator.normal(size=300),
        },
        index=np.arange(300)[::-1],
    )
    noise = generator.normal(size=300)
    y = np.where((X["sex"] == "M") + X["age"] + noise > 0.5, "yes", "no")
    encode = make_column_transformer(
        (OneHotEncoder(), ["sex", "race"]), remainder="passthrough"
    )
    return make_pipeline(encode, LogisticRegression()).fit(X, y), X, y


@pytest.fixture
def legend_texts():
    """Read the entries of an axes' legend, as they are shown."""

    def read(ax):
        ax.figure.draw_without_rendering()
        return [text.get_text() for text in ax.get_legend().get_texts()]

    return read
