# Imported by tests/test_golden.py, which puts this directory on the path.
collect_ignore_glob = ["*.py"]
