"""Runs ``python -m skfair``."""

import sys

from skfair._cli._main import main

if __name__ == "__main__":
    sys.exit(main())
