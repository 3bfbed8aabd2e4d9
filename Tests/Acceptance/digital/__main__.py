# SPDX-License-Identifier: Apache-2.0
"""Requests digital credentials from the lab's phone with our client and with a real Chromium; see ../README.md."""
import sys

from cases import CASES
from environment import DigitalEnvironment
from harness.command import Arguments
from harness.suite import run_suite

TOOLS = ("setpriv", "bash", "chromium", "Xvfb", "openbox", "xdotool", "import", "zbarimg", "certutil", "openssl",
         "dbus-daemon", "dbus-monitor")


def main():
    parser = Arguments("acceptance digital", "Digital credentials, with our client and with Chromium.")
    options = parser.parse_args()
    parser.require(TOOLS, "run chromium")
    programs = parser.programs(options.bin_dir, "relay", "client", "lab")
    return run_suite("digital", CASES, lambda folder, signals: DigitalEnvironment(programs, folder, signals),
                     keep=options.keep)


if __name__ == "__main__":
    sys.exit(main())
