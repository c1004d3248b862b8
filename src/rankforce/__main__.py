"""`python -m rankforce` is `rankforce`."""

from __future__ import annotations

import sys

from rankforce.cli import main

if __name__ == "__main__":
    sys.exit(main())
