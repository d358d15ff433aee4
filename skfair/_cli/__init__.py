"""The command line: ``python -m skfair``."""
