"""Disparities of a classifier in use, with statements that hold at every look."""

from skfair.monitoring._fairness_monitor import FairnessMonitor

__all__ = ["FairnessMonitor"]
