# SPDX-License-Identifier: Apache-2.0
"""Registers and signs in with python-fido2 and libfido2, with a security key on the phone, without the kernel's device.

See ../README.md; scripts/acceptance starts this program with its dependencies.
"""
import ctypes
import sys

from cases import CASES
from environment import SecurityKeyEnvironment
from harness.command import Arguments, names_of
from harness.suite import run_suite
from libfido2 import NAME

TOOLS = ("setpriv", "unshare", "mount", "openssl", "dbus-daemon", "dbus-monitor")


def arguments():
    parser = Arguments("acceptance key", __doc__.splitlines()[0])
    parser.add_argument("--cases", type=names_of("case", CASES), default=tuple(CASES), metavar="A,B",
                        help=f"cases, of {', '.join(CASES)}; some need the credential of register")
    options = parser.parse_args()
    parser.require(TOOLS, "run key")
    try:
        ctypes.CDLL(NAME)
    except OSError:
        parser.unavailable(f"no {NAME}; scripts/prepare run key installs it")
    return options, parser.programs(options.bin_dir, "key", "relay", "auth", "lab")


def main():
    options, programs = arguments()
    return run_suite("key", {name: CASES[name] for name in options.cases},
                     lambda folder, signals: SecurityKeyEnvironment(programs, folder, signals), keep=options.keep)


if __name__ == "__main__":
    sys.exit(main())
