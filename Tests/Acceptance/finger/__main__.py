# SPDX-License-Identifier: Apache-2.0
"""Fingerprints in place of the PIN: a real fprintd with a virtual sensor, the vault agent, and whole sign-ins.

See ../README.md; scripts/acceptance starts this program with its dependencies.
"""
import os
import sys

from cases import CASES
from environment import FingerEnvironment
from harness.command import Arguments, names_of
from harness.suite import run_suite
from sensor import FPRINTD

TOOLS = ("setpriv", "openssl", "dbus-daemon", "dbus-monitor")


def arguments():
    parser = Arguments("acceptance finger", __doc__.splitlines()[0])
    parser.add_argument("--cases", type=names_of("case", CASES), default=tuple(CASES), metavar="A,B",
                        help=f"cases, of {', '.join(CASES)}; default all")
    options = parser.parse_args()
    parser.require(TOOLS, "run finger")
    if not os.access(FPRINTD, os.X_OK):
        parser.unavailable("fprintd is not installed; scripts/prepare run finger installs what is needed")
    return options, parser.programs(options.bin_dir, "client", "relay", "auth", "lab")


def main():
    options, programs = arguments()
    return run_suite("finger", {name: CASES[name] for name in options.cases},
                     lambda folder, signals: FingerEnvironment(programs, folder, signals), keep=options.keep)


if __name__ == "__main__":
    sys.exit(main())
