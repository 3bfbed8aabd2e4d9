# SPDX-License-Identifier: Apache-2.0
"""Boots guests of the suite `vm` with a TPM from swtpm, and runs the cases in them."""
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "vm"))

from emulated_tpm import EmulatedTPM
from failure import run_main
from guest_cases import BOOTS
from harness.command import REPOSITORY
from image import SUITES
from machine import EMULATOR, Machine
from prepared import built, static_programs

TOOLS = ("setpriv", "swtpm", EMULATOR, "mmdebstrap", "mke2fs", "cpio", "depmod", "modprobe", "xz", "cc")
CASES = {name: case for cases in BOOTS.values() for name, case in cases.items()}
# For each boot, the state of its TPM, and QEMU's device, of which each has a driver of its own.
TPMS = {"first": ("one", "tpm-crb"), "other": ("two", "tpm-tis"), "again": ("one", "tpm-crb")}


def selected(names):
    """Returns the names of the cases for each boot that is needed."""
    boots = {boot: [name for name in cases if name in names] for boot, cases in BOOTS.items()}
    if (boots["other"] or boots["again"]) and "tpm-kept" not in boots["first"]:
        boots["first"].append("tpm-kept")
    return {boot: cases for boot, cases in boots.items() if cases}


def perform(options, boots):
    """Runs the cases of each boot; returns the exit status."""
    programs = static_programs(options.bin_dir, ("hybrid-auth",))
    results, status = Path(tempfile.mkdtemp(prefix="hybrid-custody-")), 1
    # Sockets need short paths.
    sockets = Path(tempfile.mkdtemp(prefix="hybrid-tpm-", dir="/tmp"))
    extent = "all" if options.all else "some"
    try:
        image, statuses = built(options.suite, "bluez"), []
        for boot, names in boots.items():
            state, model = TPMS[boot]
            print(f"{options.suite}, {boot} boot, TPM {state}, {model}:", flush=True)
            with (EmulatedTPM(results / f"tpm-{state}", sockets, results / f"{boot}-tpm.log", model) as tpm,
                  Machine(image, programs, REPOSITORY, results, processors=options.processors, tpm=tpm) as guest):
                statuses.append(guest.run(["python3", "-B", "/mnt/tests/Acceptance/custody/in_guest.py", boot,
                                           ",".join(names), extent], 7200))
        status = max(statuses)
    finally:
        shutil.rmtree(sockets, ignore_errors=True)
        if status or options.keep:
            print(f"logs: {results}", file=sys.stderr)
        else:
            shutil.rmtree(results, ignore_errors=True)
    return status


def run(options):
    """Runs the cases and ends this program."""
    run_main("acceptance custody", lambda: perform(options, selected(options.cases)))
