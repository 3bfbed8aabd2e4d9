# SPDX-License-Identifier: Apache-2.0
"""Tests the window of hybrid-prompt on a virtual screen: codes by zbar, keys, and names for screen readers.

See ../README.md; scripts/acceptance starts this program with its dependencies.
"""
import os
import sys
from pathlib import Path

from cases import CASES, WITH_PROGRAMS
from environment import PromptEnvironment
from harness.command import REPOSITORY, Arguments, names_of
from harness.suite import run_suite

TOOLS = ("setpriv", "Xvfb", "openbox", "xdotool", "import", "convert", "zbarimg", "dbus-run-session")
PROMPT = REPOSITORY / "Desktop" / ".build" / "debug" / "hybrid-prompt"
ALL = CASES | WITH_PROGRAMS


def arguments():
    parser = Arguments("acceptance prompt", __doc__.splitlines()[0])
    parser.add_argument("--prompt", type=lambda path: Path(path).resolve(), default=PROMPT, metavar="FILE",
                        help="the program under test; default Desktop/.build/debug/hybrid-prompt")
    parser.add_argument("--cases", type=names_of("case", ALL), metavar="A,B",
                        help=f"cases, of {', '.join(ALL)}; the last needs the programs of --bin-dir and is left out if "
                             "they are not built")
    options = parser.parse_args()
    parser.require(TOOLS, "prompt")
    if not os.access(options.prompt, os.X_OK):
        parser.unavailable(f"no {options.prompt}; build it with 'swift build --package-path Desktop', or set --prompt")
    if options.cases:
        programs = None
        if any(name in WITH_PROGRAMS for name in options.cases):
            programs = parser.programs(options.bin_dir, "client", "lab")
    elif all(os.access(options.bin_dir / name, os.X_OK) for name in ("hybrid-client", "hybrid-lab")):
        options.cases, programs = tuple(ALL), parser.programs(options.bin_dir, "client", "lab")
    else:
        options.cases, programs = tuple(CASES), None
        print(f"  left out  {', '.join(WITH_PROGRAMS)}: hybrid-client and hybrid-lab are not in {options.bin_dir}; "
              "build them, or set --bin-dir")
    return options, programs


def main():
    options, programs = arguments()
    return run_suite("prompt", {name: lambda env, name=name: ALL[name](env, name) for name in options.cases},
                     lambda folder, signals: PromptEnvironment(options.prompt, programs, folder, signals),
                     keep=options.keep, evidence="pictures and output")


if __name__ == "__main__":
    sys.exit(main())
