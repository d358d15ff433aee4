"""Measure, prove and reduce the unfairness of scikit-learn classifiers."""

__version__ = "0.1.0"
