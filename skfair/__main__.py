"""Runs ``python -m skfair``."""

import sys

from skfair.report._command_line import main

if __name__ == "__main__":
    sys.exit(main())
