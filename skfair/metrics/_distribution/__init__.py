"""Metrics of score distributions: MCDP, MADD, ABCC."""
