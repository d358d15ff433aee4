"""Log-loss plus a penalty on the gap between groups, which several mitigators use."""
