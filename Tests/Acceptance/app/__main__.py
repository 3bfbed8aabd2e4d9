# SPDX-License-Identifier: Apache-2.0
"""Tests the windows of hybrid-passkeys on virtual screens, with a hybrid-auth that tells prepared stories.

See ../README.md; scripts/acceptance starts this program with its dependencies.
"""
import sys

from cases import CASES
from environment import AppEnvironment
from harness.window_suite import run_window_suite

if __name__ == "__main__":
    sys.exit(run_window_suite("app", __doc__.splitlines()[0], "hybrid-passkeys", CASES, AppEnvironment))
