# SPDX-License-Identifier: Apache-2.0
"""Gives passkeys from one vault to another nearby: our programs with each other, and each with its counterpart in Python.

See ../README.md; scripts/acceptance starts this program with its dependencies.
"""
import os
import sys
from pathlib import Path

# The giver and the receiver in Python.
COUNTERPARTS = Path(__file__).resolve().parents[2] / "Counterparts"
sys.path.append(str(COUNTERPARTS))

from cases import ALONE, CASES
from environment import NearbyEnvironment
from harness.command import Arguments, count, names_of
from harness.suite import run_suite

TOOLS = ("setpriv", "openssl", "dbus-daemon", "dbus-monitor", "strace")


def arguments():
    parser = Arguments("acceptance nearby", __doc__.splitlines()[0])
    parser.add_argument("--cases", type=names_of("case", CASES), default=tuple(CASES), metavar="A,B",
                        help=f"cases, of {', '.join(CASES)}; default all")
    parser.add_argument("--all", action="store_true",
                        help="kill our programs at every system call that counts instead of at a few; takes minutes")
    parser.add_argument("--at-once", type=count(what="cases"), default=(os.cpu_count() or 1) + 1, metavar="N",
                        help="number of cases that run at the same time; default one more than there are processors")
    options = parser.parse_args()
    parser.require(TOOLS, "run linked")
    return options, parser.programs(options.bin_dir, "client", "relay", "auth", "lab")


def main():
    options, programs = arguments()
    return run_suite("nearby", {name: CASES[name] for name in options.cases},
                     lambda folder, signals: NearbyEnvironment(programs, folder, signals, COUNTERPARTS,
                                                               options.all),
                     keep=options.keep, at_once=options.at_once, alone=ALONE)


if __name__ == "__main__":
    sys.exit(main())
