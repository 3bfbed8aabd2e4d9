# SPDX-License-Identifier: Apache-2.0
"""Tests the windows of hybrid-passkeys on virtual screens, with a hybrid-auth that tells prepared stories.

See ../README.md; scripts/acceptance starts this program with its dependencies.
"""
import os
import sys
from pathlib import Path

from cases import CASES
from environment import AppEnvironment
from harness.command import REPOSITORY, Arguments, names_of
from harness.suite import run_suite

TOOLS = ("setpriv", "Xvfb", "openbox", "xdotool", "import", "dbus-run-session")
APP = REPOSITORY / "Desktop" / ".build" / "debug" / "hybrid-passkeys"


def arguments():
    parser = Arguments("acceptance app", __doc__.splitlines()[0])
    parser.add_argument("--app", type=lambda path: Path(path).resolve(), default=APP, metavar="FILE",
                        help="the program under test; default Desktop/.build/debug/hybrid-passkeys")
    parser.add_argument("--cases", type=names_of("case", CASES), default=tuple(CASES), metavar="A,B",
                        help=f"cases, of {', '.join(CASES)}")
    parser.add_argument("--pictures", type=lambda path: Path(path).resolve(), metavar="DIR",
                        help="keep a picture of every page in this folder")
    options = parser.parse_args()
    parser.require(TOOLS, "phone")
    if not os.access(options.app, os.X_OK):
        parser.unavailable(f"no {options.app}; build it with 'swift build --package-path Desktop' where libadwaita 1.5 "
                           "is installed, or set --app")
    if options.pictures:
        options.pictures.mkdir(parents=True, exist_ok=True)
    return options


def main():
    options = arguments()
    return run_suite("app", {name: lambda env, name=name: CASES[name](env, name) for name in options.cases},
                     lambda folder, signals: AppEnvironment(options.app, options.pictures, folder, signals),
                     keep=options.keep, evidence="pictures and output")


if __name__ == "__main__":
    sys.exit(main())
