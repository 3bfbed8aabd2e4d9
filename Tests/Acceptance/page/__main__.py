# SPDX-License-Identifier: Apache-2.0
"""Tests the page of `hybrid-client show-qr --open` in a real Chromium and takes a picture of each stage.

See ../README.md; scripts/acceptance starts this program with its dependencies.
"""
import sys

from environment import PageEnvironment
from harness.command import Arguments, names_of
from harness.suite import run_suite
from scenarios import SCENARIOS

TOOLS = ("setpriv", "bash", "chromium", "Xvfb", "openbox", "xdotool", "import", "zbarimg", "openssl", "dbus-daemon",
         "dbus-monitor")


def arguments():
    parser = Arguments("acceptance page", __doc__.splitlines()[0])
    parser.add_argument("--scenarios", type=names_of("scenario", SCENARIOS), default=tuple(SCENARIOS), metavar="A,B",
                        help=f"scenarios, of {', '.join(SCENARIOS)}; those after whole-ceremony need its passkey")
    options = parser.parse_args()
    parser.require(TOOLS, "run chromium")
    return options, parser.programs(options.bin_dir, "client", "relay", "auth", "lab")


def main():
    options, programs = arguments()
    return run_suite("page", {name: SCENARIOS[name] for name in options.scenarios},
                     lambda folder, signals: PageEnvironment(programs, folder, signals),
                     keep=options.keep, evidence="pictures and logs")


if __name__ == "__main__":
    sys.exit(main())
