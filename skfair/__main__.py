"""Runs ``python -m skfair``."""

import sys

from skfair._cli._command_line import main

if __name__ == "__main__":
    sys.exit(main())
