# SPDX-License-Identifier: Apache-2.0
"""Encrypts and decrypts with secrets from a phone: stock age, pyrage, and programs that take a password.

See ../README.md; scripts/acceptance starts this program with its dependencies.
"""
import os
import sys
from pathlib import Path

# The judge, and a phone in Python.
COUNTERPARTS = Path(__file__).resolve().parents[2] / "Counterparts"
sys.path.append(str(COUNTERPARTS))

import page_cases
from cases import CASES, FIRST
from environment import SecretsEnvironment
from harness.command import Arguments, names_of
from harness.suite import run_suite

TOOLS = ("setpriv", "openssl", "dbus-daemon", "dbus-monitor", "age", "gocryptfs", "restic", "borg", "cryptsetup",
         "zbarimg")
PAGE_TOOLS = (*TOOLS, "chromium", "Xvfb", "openbox", "xdotool", "import", "certutil")


def arguments():
    parser = Arguments("acceptance secrets", __doc__.splitlines()[0])
    parser.add_argument("--cases", type=names_of("case", CASES), default=tuple(CASES), metavar="A,B",
                        help=f"cases, of {', '.join(CASES)}; {' and '.join(FIRST)} run in any case, for their keys")
    parser.add_argument("--age", type=lambda path: Path(path).resolve(), metavar="DIR",
                        help="a folder with another release of age, such as usr/bin of an unpacked package")
    parser.add_argument("--page", action="store_true",
                        help=f"a page in a real Chromium instead; its cases are {', '.join(page_cases.CASES)}")
    options = parser.parse_args()
    if options.age and not (options.age / "age").is_file():
        parser.unavailable(f"no age in {options.age}")
    # Debian has cryptsetup where only administrators have a search path.
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    parser.require(PAGE_TOOLS if options.page else TOOLS, "run secrets chromium" if options.page else "run secrets")
    return options, parser.programs(options.bin_dir, "key", "relay", "auth", "lab")


def main():
    options, programs = arguments()
    if options.page:
        cases, kind = page_cases.CASES, page_cases.PageEnvironment
    else:
        cases = {name: case for name, case in CASES.items() if name in FIRST or name in options.cases}
        kind = SecretsEnvironment
    return run_suite("secrets", cases, lambda folder, signals: kind(programs, folder, signals, options.age),
                     keep=options.keep)


if __name__ == "__main__":
    sys.exit(main())
