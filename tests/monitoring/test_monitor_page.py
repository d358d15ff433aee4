"""The page of a monitor."""

import numpy as np
import pytest
from sklearn.exceptions import UndefinedMetricWarning

from skfair.metrics import demographic_parity_difference, mcdp
from skfair.monitoring import FairnessMonitor


def test_pages_are_small_and_safe(tmp_path):
    """Five hundred looks of strata whose names are markup."""
    monitor = FairnessMonitor(demographic_parity_difference, at_most=0.1)
    rng = np.random.default_rng(0)
    for _ in range(5):
        monitor.update(
            None,
            rng.integers(0, 2, 40),
            sensitive_features=rng.integers(0, 2, 40),
            control_features=["<script>", "&"] * 20,
        )
    # More looks like these.
    monitor._looks *= 100
    monitor._blocks = [(500, monitor.statistic_)]
    path = tmp_path / "page.html"
    page = monitor.to_html(path)
    assert path.read_text("utf-8") == page
    assert len(page) < 100_000
    assert "<script" not in page
    assert "Looks: 500." in page
    assert page.count("<tr>") == 11


def test_undefined_looks():
    monitor = FairnessMonitor(mcdp)
    with pytest.raises(ValueError, match="call update first"):
        monitor.to_html()
    with pytest.warns(UndefinedMetricWarning):
        monitor.update(None, [0.5], sensitive_features=["a"])
    assert "No alarm." in monitor.to_html()
    monitor.update(None, [0.5], sensitive_features=["b"])
    assert "nan" not in monitor.to_html().split("<table>")[0]
