# SPDX-License-Identifier: Apache-2.0
"""Runs ceremonies with a real Chromium as client, our relay, our authenticator and our virtual radio.

See ../README.md; scripts/acceptance starts this program with its dependencies.
"""
import argparse
import statistics
import sys
import tempfile
from pathlib import Path

from busy import busy
from harness.command import Arguments, count
from harness.waiting import Signals
from run import perform
from selection import ALL, DEFAULT

TOOLS = ("setpriv", "bash", "chromium", "Xvfb", "openbox", "xdotool", "import", "zbarimg", "certutil", "openssl",
         "dbus-daemon", "dbus-monitor")


def arguments():
    parser = Arguments("acceptance chromium", "Ceremonies with a real Chromium.")
    parser.add_argument("--repeat", type=count(), default=1, metavar="N", help="number of runs, each with a new "
                                                                              "environment")
    parser.add_argument("--busy", action="store_true", help="keep every core busy meanwhile")
    parser.add_argument("--all", action="store_const", const=tuple(ALL), dest="ceremonies", default=DEFAULT,
                        help="all ceremonies, including slow ones")
    parser.add_argument("--ceremonies", type=_ceremonies, default=DEFAULT, metavar="A,B",
                        help=f"ceremonies, of {', '.join(ALL)}; default {','.join(DEFAULT)}")
    options = parser.parse_args()
    parser.require(TOOLS, "run chromium")
    return options, parser.programs(options.bin_dir, "relay", "auth", "lab")


def _ceremonies(text):
    names = tuple(text.split(","))
    registered = False
    for name in names:
        if name not in ALL:
            raise argparse.ArgumentTypeError(f"there is no ceremony {name!r}; the ceremonies are {', '.join(ALL)}")
        if ALL[name].needs_passkey and not registered:
            raise argparse.ArgumentTypeError(f"{name} needs a passkey; add register before it")
        registered = registered or ALL[name].makes_passkey
    return names


def say(line):
    print(line, flush=True)


def print_times(runs):
    names = list(dict.fromkeys(name for run in runs for name in run.times))
    say(f"\n{'seconds':40} {'min':>7} {'median':>7} {'max':>7} {'of':>4}")
    for name in names:
        times = [run.times[name] for run in runs if name in run.times]
        say(f"{name:40} {min(times):7.2f} {statistics.median(times):7.2f} {max(times):7.2f} {len(times):4}")
    say("")


def main():
    options, programs = arguments()
    sys.stdout.reconfigure(errors="backslashreplace")
    signals = Signals()
    parent = Path(tempfile.mkdtemp(prefix="hybrid-chromium-"))
    runs = []
    try:
        with busy(options.busy):
            for number in range(1, options.repeat + 1):
                say(f"run {number} of {options.repeat}")
                run = perform(parent / f"run-{number}", programs, options.ceremonies, signals, options.keep, say)
                runs.append(run)
                if run.interrupted:
                    break
    finally:
        if not any(parent.iterdir()):
            parent.rmdir()
    if options.repeat > 1:
        print_times(runs)
    passed = sum(run.passed for run in runs)
    say(f"{passed} passed, {len(runs) - passed} failed")
    if runs[-1].interrupted:
        return 128 + runs[-1].interrupted.number
    return 0 if passed == len(runs) else 1


if __name__ == "__main__":
    sys.exit(main())
