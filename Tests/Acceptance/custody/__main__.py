# SPDX-License-Identifier: Apache-2.0
"""The custody of the vault's key: a TPM in software (swtpm), also behind a kernel, and a fprintd with a virtual sensor.

See ../README.md; scripts/acceptance starts this program with its dependencies.
"""
import os
import platform
import signal
import subprocess
import sys
import tempfile

import guests
from cases import PARTS
from finger_environment import FingerEnvironment
from harness.command import Arguments, count, names_of
from harness.suite import run_suite
from sensor import FPRINTD
from tpm_environment import TPMEnvironment

ALL_CASES = {name: case for cases in PARTS.values() for name, case in cases.items()}
TPM_TOOLS = ("setpriv", "strace", "swtpm", "tpm2_createprimary")
TOOLS = {"tpm": TPM_TOOLS, "kill": TPM_TOOLS, "finger": ("openssl", "dbus-daemon", "dbus-monitor")}
PROGRAMS = {"tpm": ("auth",), "kill": ("auth",), "finger": ("client", "relay", "auth", "lab")}


def arguments():
    parser = Arguments("acceptance custody", __doc__.splitlines()[0])
    parser.add_argument("--parts", type=names_of("part", PARTS), default=tuple(PARTS), metavar="A,B",
                        help=f"parts, of {', '.join(PARTS)}, at the same time; default all")
    known = tuple(ALL_CASES | guests.CASES)
    parser.add_argument("--cases", type=names_of("case", known), default=known, metavar="A,B",
                        help=f"cases, of {', '.join(ALL_CASES)}, or with --guest of {', '.join(guests.CASES)}; default all")
    parser.add_argument("--all", action="store_true",
                        help="kill the program at every step instead of some, and measure 20 unlocks instead of 3")
    parser.add_argument("--guest", action="store_true",
                        help="instead of the parts, the cases of /dev/tpmrm0 in a guest, which is booted with its TPM")
    parser.add_argument("--suite", choices=guests.SUITES, default="trixie", help="the guest's Debian; default trixie")
    parser.add_argument("--processors", type=count(what="processors"), default=2, metavar="N",
                        help="processors of the guest; default 2")
    options = parser.parse_args()
    if options.guest:
        return guest_arguments(parser, options)
    selected = {part: cases for part in options.parts
                if (cases := {name: case for name, case in PARTS[part].items() if name in options.cases})}
    if not selected:
        parser.error("the parts have none of the cases; leave out --parts or --cases")
    for part in selected:
        parser.require(TOOLS[part], "run custody")
    if "finger" in selected and not os.access(FPRINTD, os.X_OK):
        parser.unavailable("fprintd is not installed; scripts/prepare run custody installs what is needed")
    names = sorted({name for part in selected for name in PROGRAMS[part]})
    return options, selected, parser.programs(options.bin_dir, *names)


def guest_arguments(parser, options):
    """Checks what a guest needs; returns the options."""
    os.environ["PATH"] = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    parser.require(guests.TOOLS if os.geteuid() == 0 else (*guests.TOOLS, "fakeroot"), "vm run custody")
    if platform.machine() != "x86_64":
        parser.unavailable("the guest exists for x86_64 only")
    if not guests.selected(options.cases):
        parser.error("the guest has none of the cases; leave out --guest or --cases")
    return options, None, None


def at_the_same_time(parts):
    """Runs each part in a process of its own, because most time is spent in scrypt; prints their reports in order."""
    reports = [tempfile.TemporaryFile("w+") for _ in parts]
    children = [subprocess.Popen([sys.executable, *sys.argv, "--parts", part], stdout=report)
                for part, report in zip(parts, reports)]

    def pass_on(number, _):
        for child in children:
            child.send_signal(number)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, pass_on)
    status = 0
    for part, child, report in zip(parts, children, reports):
        ending = child.wait()
        # A negative one is the number of a signal.
        status = max(status, ending if ending >= 0 else 128 - ending)
        report.seek(0)
        print(f"part {part}:\n{report.read()}", end="", flush=True)
    return status


def main():
    options, selected, programs = arguments()
    if options.guest:
        guests.run(options)
    if len(selected) > 1:
        return at_the_same_time(selected)
    part, cases = selected.popitem()
    if part == "finger":
        return run_suite("custody-finger", cases, lambda folder, signals: FingerEnvironment(programs, folder, signals),
                         keep=options.keep)
    return run_suite(f"custody-{part}", cases,
                     lambda folder, signals: TPMEnvironment(programs, folder, signals, options.all), keep=options.keep)


if __name__ == "__main__":
    sys.exit(main())
