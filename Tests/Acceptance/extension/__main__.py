# SPDX-License-Identifier: Apache-2.0
"""Tests the browser extension of hybrid-remote in a real Chromium, with hosts that the test controls.

See ../README.md; scripts/acceptance starts this program with its dependencies.
"""
import sys
from pathlib import Path

from cases import CASES
from environment import FOLDER, ExtensionEnvironment
from harness.command import Arguments, names_of
from harness.suite import run_suite

TOOLS = ("setpriv", "bash", "chromium")


def main():
    parser = Arguments("acceptance extension", __doc__.splitlines()[0])
    parser.add_argument("--cases", type=names_of("case", CASES), default=tuple(CASES), metavar="A,B",
                        help=f"cases, of {', '.join(CASES)}")
    parser.add_argument("--extension", type=lambda path: Path(path).resolve(), default=FOLDER, metavar="DIR",
                        help="folder of the extension; default Extension of this repository")
    options = parser.parse_args()
    parser.require(TOOLS, "run chromium")
    return run_suite("extension", {name: CASES[name] for name in options.cases},
                     lambda folder, signals: ExtensionEnvironment(folder, signals, options.extension),
                     keep=options.keep)


if __name__ == "__main__":
    sys.exit(main())
