# SPDX-License-Identifier: Apache-2.0
"""The custody of the vault's key: a real TPM simulator (swtpm), and what guards the PIN on this device.

See ../README.md; scripts/acceptance starts this program with its dependencies.
"""
import sys

from cases import CASES
from environment import CustodyEnvironment
from harness.command import Arguments, names_of
from harness.suite import run_suite

TOOLS = ("setpriv", "strace", "swtpm", "tpm2_createprimary")


def arguments():
    parser = Arguments("acceptance custody", __doc__.splitlines()[0])
    parser.add_argument("--cases", type=names_of("case", CASES), default=tuple(CASES), metavar="A,B",
                        help=f"cases, of {', '.join(CASES)}; default all")
    parser.add_argument("--all", action="store_true", help="kill the program at every step, not at some")
    options = parser.parse_args()
    parser.require(TOOLS, "run custody")
    return options, parser.programs(options.bin_dir, "auth")


def main():
    options, programs = arguments()
    return run_suite("custody", {name: CASES[name] for name in options.cases},
                     lambda folder, signals: CustodyEnvironment(programs, folder, signals, options.all),
                     keep=options.keep)


if __name__ == "__main__":
    sys.exit(main())
