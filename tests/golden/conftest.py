collect_ignore_glob = ["*.py"]  # imported by tests/test_golden.py, from this directory
