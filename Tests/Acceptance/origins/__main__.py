# SPDX-License-Identifier: Apache-2.0
"""Compares our verdicts about related origins with those of a real Chromium; see ../README.md."""
import sys

from environment import OriginsEnvironment, vectors
from harness.command import Arguments
from harness.suite import run_suite
from harness.waiting import Failed

TOOLS = ("setpriv", "bash", "chromium", "Xvfb", "openbox", "certutil", "openssl", "dbus-daemon", "dbus-monitor")


def compare(number):
    """Returns the case with this number."""
    def perform(env):
        case = vectors()["cases"][number]
        ours, chromium = env.ours(number), env.chromium(number)
        for who, found, expected in (("hybrid-client", ours, case["ours"]), ("Chromium", chromium, case["chromium"])):
            if not found.startswith(expected):
                raise Failed(f"{who}: expected {expected}, found {found}")
        return f"ours {ours.partition(':')[0]:7}  Chromium {chromium.partition(':')[0]:7}" + (
            "" if case["ours"] == case["chromium"] else f"  ({case['why']})")
    return perform


def main():
    parser = Arguments("acceptance origins", "Verdicts about related origins, ours and Chromium's.")
    options = parser.parse_args()
    parser.require(TOOLS, "run chromium")
    programs = parser.programs(options.bin_dir, "client", "lab")
    cases = {case["name"]: compare(number) for number, case in enumerate(vectors()["cases"])}
    return run_suite("origins", cases, lambda folder, signals: OriginsEnvironment(programs, folder, signals),
                     keep=options.keep)


if __name__ == "__main__":
    sys.exit(main())
