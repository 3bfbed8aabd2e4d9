# SPDX-License-Identifier: Apache-2.0
"""Tests the request sheet of hybrid-ask on virtual screens: every question, keys, taps, and names for screen readers.

See ../README.md; scripts/acceptance starts this program with its dependencies.
"""
import sys

from cases import CASES
from environment import SheetEnvironment
from harness.window_suite import run_window_suite

if __name__ == "__main__":
    sys.exit(run_window_suite("ask", __doc__.splitlines()[0], "hybrid-ask", CASES, SheetEnvironment))
