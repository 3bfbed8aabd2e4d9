# SPDX-License-Identifier: Apache-2.0
"""Runs the cases in the guest: one line for each, `ok` or `FAILED`; exits with 1 if one failed."""
import sys
import time
import traceback
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2]))

import camera
import ceremonies
import channels
import desktop_key
from environment import RESULTS, TestEnvironment
import faults
import key_device
import namespaces
import transfers
from harness.waiting import Failed, Interrupted, Signals

TOGETHER = {**ceremonies.CASES, **faults.CASES, **namespaces.CASES, **key_device.CASES,
            **ceremonies.LAST}
# The cases that share a guest, by the kind of guest.
GUESTS = {"bluez": TOGETHER, "desktop": desktop_key.CASES}
CASES = {**TOGETHER, **key_device.ALONE, **channels.CASES, **transfers.CASES, **desktop_key.CASES, **desktop_key.ALONE,
         **camera.CASES}
USAGE = 64


def perform(env, name):
    """Returns True if a case passed; no advert and no scan may remain after it."""
    env.case, begun, complaint, note = name, time.monotonic(), None, ""
    try:
        note = CASES[name](env)
        env.tidy()
        env.bluez.expect_silence()
    except Failed as error:
        complaint = str(error)
    except Interrupted:
        raise
    except Exception:  # An error of the case itself.
        complaint = traceback.format_exc()
    env.tidy()
    seconds = time.monotonic() - begun
    if complaint:
        complaint += env.bluez.evidence(env.results, name)
    line = f"{'FAILED' if complaint else 'ok    '} {name:22} {seconds:6.1f} s  {complaint or note}"
    print(line, flush=True)
    with open(RESULTS / "report", "a", encoding="utf-8") as report:
        report.write(line + "\n")
    try:
        env.bluez.recover()
    except Failed as error:
        print(f"FAILED {name:22} afterwards: {error}", flush=True)
        return False
    return complaint is None


def main(arguments):
    names = list(GUESTS[arguments[1]]) if arguments[:1] == ["--guest"] else []
    if arguments[:1] == ["--cases"]:
        names = arguments[1].split(",")
    if names == ["help"]:
        print("\n".join(CASES))
        return 0
    for name in names:
        if name not in CASES:
            print(f"there is no case {name}; the cases are {', '.join(CASES)}", file=sys.stderr)
            return USAGE
    env = TestEnvironment(Signals(), names[0])
    try:
        passed = sum([perform(env, name) for name in names])
    finally:
        env.close()
    if len(names) > 1:
        print(f"{passed} passed, {len(names) - passed} failed", flush=True)
    return 0 if passed == len(names) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
