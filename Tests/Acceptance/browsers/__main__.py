# SPDX-License-Identifier: Apache-2.0
"""Registers and signs in with Firefox and Chromium, whose security key is a phone.

See ../README.md; scripts/acceptance starts this program with its dependencies.
"""
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

sys.path += [str(Path(__file__).parents[1] / "vm"), str(Path(__file__).with_name("inside"))]

from failure import run_main
from harness.command import REPOSITORY, Arguments, count, names_of
from harness.folders import RunFolder
from harness.waiting import Signals
from image import SUITES
from judge import Judge
from machine import EMULATOR, Machine
from prepared import prepared

TOOLS = ("setpriv", EMULATOR, "mmdebstrap", "mke2fs", "cpio", "depmod", "modprobe", "xz", "cc")
TOOLS_HERE = ("setpriv", "unshare", "mount", "cc", "firefox-esr", "chromium", "Xvfb", "openbox", "xdotool", "import", "zbarimg",
              "certutil", "openssl", "dbus-daemon", "dbus-monitor")
PROGRAMS = ("hybrid-relay", "hybrid-auth", "hybrid-key", "hybrid-lab", "hybrid-uhid")
BROWSERS = ("firefox", "chromium")


def arguments():
    parser = Arguments("acceptance browsers", __doc__.splitlines()[0])
    parser.add_argument("--browsers", type=names_of("browser", BROWSERS), default=BROWSERS, metavar="A,B",
                        help=f"browsers, of {', '.join(BROWSERS)}; all by default")
    parser.add_argument("--cases", default="all", metavar="A,B", help="run only these cases")
    parser.add_argument("--runs", type=count(), default=20, metavar="N", help="sign-ins of the case sign-ins; default 20")
    parser.add_argument("--guest", action="store_true",
                        help="in a guest with the kernel's /dev/uhid; by default on this machine, with a simulated hidraw node")
    parser.add_argument("--picture", type=Path, metavar="FILE",
                        help="take the picture of docs/browsers.md instead, with the window of --prompt")
    parser.add_argument("--prompt", type=Path, metavar="FILE",
                        default=REPOSITORY / "Desktop" / ".build" / "debug" / "hybrid-prompt")
    parser.add_argument("--minutes", type=count(what="minutes"), default=120, metavar="N",
                        help="time limit of each browser in its guest, where Firefox needs minutes to start; default 120")
    parser.add_argument("--processors", type=count(what="processors"), default=2, metavar="N",
                        help="processors of the guest; default 2")
    parser.add_argument("--suite", type=names_of("suite", SUITES), default=("trixie",), metavar="A,B",
                        help="; ".join(f"{name}: {what}" for name, what in SUITES.items()) + "; default trixie")
    options = parser.parse_args()
    os.environ["PATH"] = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    if options.guest:
        parser.require(TOOLS if os.geteuid() == 0 else (*TOOLS, "fakeroot"), "vm")
    else:
        parser.require(TOOLS_HERE, "browsers")
    options.programs = parser.programs(options.bin_dir, *(name.removeprefix("hybrid-") for name in PROGRAMS))
    return options


def perform(suite, options, results):
    """Runs the cases in one suite; returns its exit status, which includes rejected responses."""
    def machine_for(image):
        return Machine(image, options.bin_dir, REPOSITORY, results, processors=options.processors)

    image, status = prepared(suite, "browsers", machine_for), 0
    for browser in options.browsers:
        with machine_for(image) as machine:
            status = machine.run(["python3", "-B", "/mnt/tests/Acceptance/browsers/inside", browser, options.cases,
                                  options.runs], 60 * options.minutes) or status
    return judged(results / "ceremonies.jsonl") or status


def perform_here(options, results):
    """Runs the cases on this machine."""
    # These modules need packages of Python that a run in the guest does not.
    from on_this_machine import SimulatedEnvironment
    from suite import perform as perform_cases

    status = 0
    for browser in options.browsers:
        status = perform_cases(SimulatedEnvironment, browser, options.cases, options.runs, results / "ceremonies.jsonl",
                               options.bin_dir, options.keep) or status
    return judged(results / "ceremonies.jsonl") or status


def take_picture(options, results):
    """Takes the picture of a sign-in."""
    from on_this_machine import Studio

    with Studio(options.prompt.resolve(), options.programs, RunFolder(results / "run"), Signals()) as studio:
        studio.take(options.picture.resolve())
    return 0


def judged(path):
    """Checks every response that the site got with two independent libraries."""
    judge, refused = Judge(), 0
    entries = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    for entry in map(json.loads, entries):
        complaint = judge.complaint(entry)
        if complaint:
            refused += 1
            print(f"FAILED {entry['case']}: {complaint}", flush=True)
    print(f"python-fido2 and py_webauthn accept {len(entries) - refused} of {len(entries)} responses", flush=True)
    return 1 if refused else 0


def main():
    options = arguments()
    parent, status = Path(tempfile.mkdtemp(prefix="hybrid-browsers-")), 0
    try:
        if options.picture:
            return take_picture(options, parent)
        if not options.guest:
            return perform_here(options, parent)
        for suite in options.suite:
            (parent / suite).mkdir(mode=0o777)
            (parent / suite).chmod(0o777)
            status = perform(suite, options, parent / suite) or status
    finally:
        if status or options.keep or sys.exc_info()[0]:
            print(f"logs: {parent}", file=sys.stderr)
        else:
            shutil.rmtree(parent, ignore_errors=True)
    return status


if __name__ == "__main__":
    run_main("acceptance browsers", main)
