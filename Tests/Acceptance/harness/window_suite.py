# SPDX-License-Identifier: Apache-2.0
"""The command line of a suite for one program with a window, with libadwaita."""
import os
from pathlib import Path

from harness.command import REPOSITORY, Arguments, names_of
from harness.suite import run_suite

TOOLS = ("setpriv", "Xvfb", "openbox", "xdotool", "import", "convert", "dbus-run-session")


def run_window_suite(name, description, program, cases, environment):
    """Performs the chosen cases and returns the exit status.

    `environment` returns the environment for the program, the folder for pictures or None, a run folder and the
    signals. The option that names another program is the suite's name.
    """
    parser = Arguments(f"acceptance {name}", description)
    parser.add_argument(f"--{name}", dest="program", type=lambda path: Path(path).resolve(), metavar="FILE",
                        default=REPOSITORY / "Desktop" / ".build" / "debug" / program,
                        help=f"the program under test; default Desktop/.build/debug/{program}")
    parser.add_argument("--cases", type=names_of("case", cases), default=tuple(cases), metavar="A,B",
                        help=f"cases, of {', '.join(cases)}")
    parser.add_argument("--pictures", type=lambda path: Path(path).resolve(), metavar="DIR",
                        help="keep a picture of every window in this folder")
    options = parser.parse_args()
    parser.require(TOOLS, "phone")
    if not os.access(options.program, os.X_OK):
        parser.unavailable(f"no {options.program}; build it with 'swift build --package-path Desktop' where libadwaita "
                           f"1.5 is installed, or set --{name}")
    if options.pictures:
        options.pictures.mkdir(parents=True, exist_ok=True)
    return run_suite(name, {case: lambda env, case=case: cases[case](env, case) for case in options.cases},
                     lambda folder, signals: environment(options.program, options.pictures, folder, signals),
                     keep=options.keep, evidence="pictures and output")
