"""Permutation tests and bootstrap intervals of any metric."""
