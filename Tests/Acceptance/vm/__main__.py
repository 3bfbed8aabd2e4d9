# SPDX-License-Identifier: Apache-2.0
"""Runs ceremonies with a real BlueZ, in a small guest with a stock kernel and virtual controllers.

See ../README.md; scripts/acceptance starts this program with its dependencies.
"""
import argparse
import json
import os
import platform
import shutil
import sys
import tempfile
import time
from pathlib import Path

from failure import Unavailable, run_main
from harness.command import REPOSITORY, Arguments, count, names_of
from image import KINDS, SUITES
from judge import Judge
from machine import EMULATOR, Machine
from prepared import prepared, static_programs

TOOLS = ("setpriv", EMULATOR, "mmdebstrap", "mke2fs", "cpio", "depmod", "modprobe", "xz", "cc")
PROGRAMS = ("hybrid-relay", "hybrid-client", "hybrid-auth", "hybrid-key", "hybrid-uhid")
# Cases with guests whose clock does not depend on the host's load.
COUNTED = ("key-device-pings",)
# Those, and cases of inside/channels.py and inside/transfers.py: each in its own guest.
ALONE = COUNTED + tuple(f"ble-{name}" for name in (
    "channel", "offline", "foreign-device", "on-the-air", "refused", "unasked", "gone", "blocked", "astray", "closed", "silent",
    "rubbish", "give", "move", "join"))
# Cases of inside/desktop_key.py, which share a guest with systemd.
WITH_SYSTEMD = tuple(f"key-{name}" for name in (
    "tools", "ssh", "pam", "two", "kill", "switch", "seat1", "ping", "flood", "status", "hardening", "calls"))
# Has a guest of its own, whose folders of the host are copied before: their driver does not survive a suspend.
SUSPENDED = "key-suspend"
# Has a guest of its own, which only Debian 13 can make: libcamera's virtual camera is not in Debian 12.
CAMERA = "camera"
INTO_MEMORY = """
mkdir /run/host
mount -t tmpfs -o size=80% host /run/host
mkdir /run/host/programs
find /mnt/programs -maxdepth 1 -type f -name 'hybrid-*' -exec cp -t /run/host/programs {} +
cp -r /mnt/tests /mnt/deploy /run/host
umount /mnt/programs /mnt/tests /mnt/deploy /mnt/results
for name in programs tests deploy; do mount --bind /run/host/$name /mnt/$name; done
"""


def arguments():
    parser = Arguments("acceptance vm", __doc__.splitlines()[0], build="release")
    parser.add_argument("--suite", type=names_of("suite", SUITES), default=("trixie",), metavar="A,B",
                        help="; ".join(f"{name}: {what}" for name, what in SUITES.items()) + "; default trixie")
    parser.add_argument("--cases", metavar="A,B", help="run only these cases; `help` lists them")
    parser.add_argument("--cold", action="store_true", help="boot the guest instead of restoring its saved state")
    parser.add_argument("--processors", type=count(what="processors"), default=2, metavar="N",
                        help="processors of the guest; default 2")
    parser.add_argument("--prepare", action="store_true", help="build the guest and run nothing")
    parser.add_argument("--guest", choices=KINDS, default="bluez",
                        help="guest of --prepare and --run: bluez (small, without systemd), desktop (with systemd), browsers "
                             "or camera; default bluez")
    parser.add_argument("--run", nargs=argparse.REMAINDER, metavar="COMMAND",
                        help="run this command as root in the guest instead, and exit with its status; our programs "
                             "are in /mnt/programs, Tests is /mnt/tests, deploy is /mnt/deploy, /mnt/results is the folder "
                             "that is kept")
    options = parser.parse_args()
    if options.run is not None and (not options.run or len(options.suite) > 1):
        parser.error("--run takes a command and one suite")
    return options


def perform(suite, options, programs, results):
    """Runs the cases in one suite; returns its exit status, which includes rejected responses."""
    def machine(kind, counted=False):
        # The limits of systemd and of logind suit a computer that is not busy.
        counted = counted or kind == "desktop"

        def machine_for(image):
            return Machine(image, programs, REPOSITORY, results, options.cold, options.processors, counted)

        return machine_for(prepared(suite, kind, machine_for))

    if options.prepare:
        machine(options.guest)
        return 0
    if options.run is not None:
        with machine(options.guest) as guest:
            return guest.run(options.run, 3600)
    begun, status = time.monotonic(), 0
    for kind, cases in guests(options.cases, suite):
        status = perform_inside(suite, kind, cases, machine(kind, cases in COUNTED), cases == SUSPENDED) or status
    if options.cases == "help":
        return status
    refused = judged(suite, results / "ceremonies.jsonl")
    print(f"{suite}: {time.monotonic() - begun:.0f} s", flush=True)
    return status or refused


def guests(cases, suite):
    """Returns the groups of cases that run in one guest each: the kind of guest, and names or None for all of a kind."""
    if cases is None:
        with_camera = [("camera", CAMERA)] if suite != "bookworm" else []
        return [("bluez", None), *(("bluez", name) for name in ALONE), ("desktop", None), ("desktop", SUSPENDED), *with_camera]
    names = cases.split(",")
    groups = {"bluez": [], "desktop": []}
    kinds = dict.fromkeys(ALONE, "bluez") | {SUSPENDED: "desktop", CAMERA: "camera"}
    for name in names:
        if name not in kinds:
            groups["desktop" if name in WITH_SYSTEMD else "bluez"].append(name)
    return [*((kind, ",".join(together)) for kind, together in groups.items() if together),
            *((kinds[name], name) for name in names if name in kinds)]


def perform_inside(suite, kind, cases, machine, suspends):
    """Runs cases in a guest; returns the exit status."""
    begun = time.monotonic()
    with machine:
        if suspends:
            machine.run(["sh", "-ec", INTO_MEMORY], quiet=True)
        if cases is None:
            print(f"{suite}, {kind}: up after {time.monotonic() - begun:.1f} s", flush=True)
        chosen = ["--guest", kind] if cases is None else ["--cases", cases]
        return machine.run(["python3", "-B", "/mnt/tests/Acceptance/vm/inside", *chosen], 3600)


def judged(suite, path):
    """Checks every response that the site got with two independent libraries."""
    judge, refused = Judge(), 0
    entries = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    for entry in map(json.loads, entries):
        complaint = judge.complaint(entry)
        if complaint:
            refused += 1
            print(f"FAILED {entry['case']}: {complaint}", flush=True)
    print(f"{suite}: python-fido2 and py_webauthn accept {len(entries) - refused} of {len(entries)} responses",
          flush=True)
    return 1 if refused else 0


def main():
    options = arguments()
    if platform.machine() != "x86_64":
        raise Unavailable("the guest exists for x86_64 only")
    tools = TOOLS if os.geteuid() == 0 else (*TOOLS, "fakeroot")
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    os.environ["PATH"] = path
    missing = [tool for tool in tools if shutil.which(tool, path=path) is None]
    if missing:
        raise Unavailable(f"not installed: {', '.join(missing)}; scripts/prepare vm installs what is needed")
    if options.run is not None or options.prepare:
        programs = options.bin_dir if options.bin_dir.is_dir() else REPOSITORY
    else:
        programs = static_programs(options.bin_dir, PROGRAMS)
    parent, status = Path(tempfile.mkdtemp(prefix="hybrid-vm-results-")), 0
    try:
        for suite in options.suite:
            (parent / suite).mkdir()
            status = perform(suite, options, programs, parent / suite) or status
    finally:
        if status or options.keep or sys.exc_info()[0]:
            print(f"logs: {parent}", file=sys.stderr)
        else:
            shutil.rmtree(parent, ignore_errors=True)
    return status


if __name__ == "__main__":
    run_main("acceptance vm", main)
