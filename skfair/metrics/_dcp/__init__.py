"""Disparate conditional prediction (DCP).

_dcp            the metric, and the result with its explanation
_dcp_bounds     bounds from known confusion matrices, and checks of what is given
_clock          how long a search may take, and what it says on the way
_search         solvers of one row of the baseline
_channel        minDCP: bounds where only frequencies are known
"""
