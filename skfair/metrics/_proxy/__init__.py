"""Bounds of metrics where groups are known by a proxy, or for some rows only."""
