# SPDX-License-Identifier: Apache-2.0
"""Links phones and signs in without a code: our programs with each other, and each with its counterpart in Python.

See ../README.md; scripts/acceptance starts this program with its dependencies.
"""
import sys
from pathlib import Path

# The client and the phone in Python.
COUNTERPARTS = Path(__file__).resolve().parents[2] / "Counterparts"
sys.path.append(str(COUNTERPARTS))

from cases import CASES
from environment import LinkedEnvironment
from harness.command import Arguments, names_of
from harness.suite import run_suite

TOOLS = ("setpriv", "openssl", "dbus-daemon", "dbus-monitor")


def arguments():
    parser = Arguments("acceptance linked", __doc__.splitlines()[0])
    # A measurement, which needs a quiet computer.
    usual = tuple(name for name in CASES if name != "latency")
    parser.add_argument("--cases", type=names_of("case", CASES), default=usual, metavar="A,B",
                        help=f"cases, of {', '.join(CASES)}; default all but latency")
    options = parser.parse_args()
    parser.require(TOOLS, "run linked")
    return options, parser.programs(options.bin_dir, "client", "key", "relay", "auth", "lab")


def main():
    options, programs = arguments()
    return run_suite("linked", {name: CASES[name] for name in options.cases},
                     lambda folder, signals: LinkedEnvironment(programs, folder, signals, COUNTERPARTS),
                     keep=options.keep)


if __name__ == "__main__":
    sys.exit(main())
