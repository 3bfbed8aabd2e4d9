# SPDX-License-Identifier: Apache-2.0
"""Tests the request sheet of hybrid-ask on virtual screens: every question, keys, taps, and names for screen readers.

See ../README.md; scripts/acceptance starts this program with its dependencies.
"""
import os
import sys
from pathlib import Path

from cases import CASES
from environment import SheetEnvironment
from harness.command import REPOSITORY, Arguments, names_of
from harness.suite import run_suite

TOOLS = ("setpriv", "Xvfb", "openbox", "xdotool", "import", "convert", "dbus-run-session")
ASK = REPOSITORY / "Desktop" / ".build" / "debug" / "hybrid-ask"


def arguments():
    parser = Arguments("acceptance ask", __doc__.splitlines()[0])
    parser.add_argument("--ask", type=lambda path: Path(path).resolve(), default=ASK, metavar="FILE",
                        help="the program under test; default Desktop/.build/debug/hybrid-ask")
    parser.add_argument("--cases", type=names_of("case", CASES), default=tuple(CASES), metavar="A,B",
                        help=f"cases, of {', '.join(CASES)}")
    parser.add_argument("--pictures", type=lambda path: Path(path).resolve(), metavar="DIR",
                        help="keep a picture of every sheet in this folder")
    options = parser.parse_args()
    parser.require(TOOLS, "phone")
    if not os.access(options.ask, os.X_OK):
        parser.unavailable(f"no {options.ask}; build it with 'swift build --package-path Desktop' where libadwaita 1.5 "
                           "is installed, or set --ask")
    if options.pictures:
        options.pictures.mkdir(parents=True, exist_ok=True)
    return options


def main():
    options = arguments()
    return run_suite("ask", {name: lambda env, name=name: CASES[name](env, name) for name in options.cases},
                     lambda folder, signals: SheetEnvironment(options.ask, options.pictures, folder, signals),
                     keep=options.keep, evidence="pictures and output")


if __name__ == "__main__":
    sys.exit(main())
