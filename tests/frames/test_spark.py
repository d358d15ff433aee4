"""Spark, as a driver and two worker processes, returns the statistics of the rows."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from skfair.frames import count_table
from skfair.metrics import mcdp
from skfair.statistics import CountTable

pytestmark = [
    pytest.mark.slow,
    # Of Spark's own modules, which read its data frames.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    sql = pytest.importorskip("pyspark.sql", reason="needs the extra spark")
    java = shutil.which("java")
    if (
        java is None
        or subprocess.run([java, "-version"], capture_output=True).returncode
    ):
        pytest.skip("Spark needs Java")
    # Two workers of one core and 1,024 MB each, with an executor process each.
    master = "local-cluster[2,1,1024]"
    builder = sql.SparkSession.builder.master(master).appName("skfair tests")
    for key, value in {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "3",
        "spark.driver.memory": "1g",
        "spark.executor.memory": "512m",
        "spark.scheduler.minRegisteredResourcesRatio": "1",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": "120s",
    }.items():
        builder = builder.config(key, value)
    # Workers of a local cluster write their logs where PySpark is installed.
    logs = Path(sql.__file__).parents[1] / "work"
    existed = logs.exists()
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        directory = tmp_path_factory.mktemp("spark")
        environment.setenv("SPARK_LOCAL_DIRS", str(directory))
        session = builder.getOrCreate()
    yield session
    session.stop()
    if not existed:
        shutil.rmtree(logs, ignore_errors=True)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    n = 2000
    sex = rng.choice(["F", "M", "X"], n)
    scores = rng.beta(2 + (sex == "F"), 3)
    scores[::3] = scores[::3].round(2)
    scores[:4] = [0, 1, 1 + 1e-13, -1e-13]
    return pd.DataFrame(
        {
            "score": scores,
            "sex": sex,
            "y": rng.integers(0, 2, n),
            "w": rng.integers(1, 4, n),
        }
    )


def assert_same(found, expected):
    assert found.labels == expected.labels
    found, expected = found.to_frame(), expected.to_frame()
    pd.testing.assert_frame_equal(found, expected, check_names=False, rtol=0, atol=0)


def test_several_processes(session, data):
    """Rows lie in two executors, which are processes of their own."""
    frame = session.createDataFrame(data).repartition(5)
    counted = count_table(frame, y_pred="score", sensitive_features="sex")
    assert counted.counts.sum() == len(data)
    status = session.sparkContext._jsc.sc().getExecutorMemoryStatus()
    assert status.size() == 3  # the driver is among them


@pytest.mark.parametrize("weight", [None, "w"])
def test_statistics(session, data, weight):
    frame = session.createDataFrame(data).repartition(5)
    columns = {"sensitive_features": "sex", "sample_weight": weight}
    rows = {
        "sensitive_features": data["sex"],
        "sample_weight": None if weight is None else data[weight],
    }
    found = count_table(frame, y_pred="score", n_bins=256, **columns)
    expected = CountTable.from_rows(None, data["score"], n_bins=256, **rows)
    assert_same(found, expected)
    found_scores = count_table(frame, y_pred="score", **columns)
    assert_same(found_scores, CountTable.from_rows(None, data["score"], **rows))
    found = count_table(frame, y_true="y", y_pred="y", **columns)
    assert_same(found, CountTable.from_rows(data["y"], data["y"], **rows))
    assert mcdp(None, found_scores) == mcdp(None, data["score"], **rows)


def test_report(session, data, counting):
    columns = {"y_true": "y", "y_score": "score", "sensitive_features": "sex"}
    options = {"metrics": ["mcdp"], "n_permutations": 59, "random_state": 0}
    found, expected = (
        counting().from_frame(frame, sample_weight="w", **columns, **options)
        for frame in (session.createDataFrame(data), data)
    )
    assert found.to_frame().equals(expected.to_frame())


def test_rows_that_cannot_be_counted(session, data):
    broken = data.astype({"score": object})
    broken.loc[[3, 5], "score"] = None
    broken.loc[7, "score"] = 1.5
    frame = session.createDataFrame(broken, "score double, sex string, y int, w int")
    message = r"'score' has 2 (NULL values|NaN).*1 values outside"
    with pytest.raises(ValueError, match=message):
        count_table(frame, y_pred="score", sensitive_features="sex", n_bins=4)
