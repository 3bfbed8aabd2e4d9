#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kills the real `hybrid-auth vault …` at the n-th of the system calls that change a disk, by strace; gives it ENOSPC
there; and looks at the order of its writes. After each the vault must hold what it held.

strace counts n for each thread and each kind of call by itself. So the first calls of a second thread, and of a kind
that comes before another of the same n, are not all hit, nor are write and openat: it is a sample of the places.

    kill_anywhere.py PROGRAM [--every K]     K > 1 tries only each K-th place

What is in the vault is read by vault_format.py, which shares no code with the program. Needs strace.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import vault_format

HERE = os.path.dirname(os.path.abspath(__file__))
CALLS = "fsync,linkat,renameat,renameat2,unlinkat,mkdir,mkdirat,flock"
PIN, NEXT_PIN, NEW = "123456", "654321", "glider museum ochre tactful banjo"
PERSON = """#!/bin/sh
echo "OK ready"
while read -r line; do
  case "$line" in
    GETPIN*)
      count=$(($(cat "$TEST_ANSWERS.count" 2> /dev/null || echo 0) + 1))
      echo $count > "$TEST_ANSWERS.count"
      answer=$(sed -n "${count}p" "$TEST_ANSWERS")
      if [ -n "$answer" ]; then echo "D $answer"; echo OK; else echo "ERR 83886179 cancelled"; fi ;;
    BYE*) echo OK; exit 0 ;;
    *) echo OK ;;
  esac
done
"""


class Place:
    """A folder with a vault, a state and a person."""

    def __init__(self, program, like=None):
        self.program = program
        self.root = tempfile.mkdtemp(prefix="vault-kill-")
        if like:
            shutil.copytree(like.root, self.root, dirs_exist_ok=True)
        self.vault, self.backup = self.root + "/vault", self.root + "/backup"
        self.person = self.root + "/person"
        with open(self.person, "w") as file:
            file.write(PERSON)
        os.chmod(self.person, 0o700)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.root, ignore_errors=True)

    def run(self, command, answers=(), tracer=()):
        with tempfile.NamedTemporaryFile("w", dir=self.root, delete=False) as file:
            file.write("".join(answer + "\n" for answer in answers))
        environment = dict(os.environ, HOME=self.root, XDG_STATE_HOME=self.root + "/state", TEST_ANSWERS=file.name)
        environment.pop("DBUS_SYSTEM_BUS_ADDRESS", None)
        arguments = ["vault"] + [a.replace("BACKUP", self.backup).replace("COPY", self.root + "/copy") for a in command] + ["--vault", self.vault]
        if command[0] != "status":
            arguments += ["--pinentry", self.person]
        line = list(tracer) + [self.program] + arguments
        return subprocess.run(line, env=environment, capture_output=True, text=True, timeout=120)

    def must(self, command, answers=()):
        done = self.run(command, answers)
        assert done.returncode == 0, (command, done)
        return done


EXPECTED = json.load(open(HERE + "/vector/content.json"))


def check_content(content):
    for name in ("vault", "passkeys", "deleted", "uses"):
        assert content[name] == EXPECTED[name], (name, content)


def opens_with(place, pins):
    """The PIN that opens the vault; a passphrase is added on the way, by which everything is read again."""
    for pin in pins:
        if place.run(["add-passphrase"], [pin, NEW, NEW]).returncode == 0:
            status = json.loads(place.must(["status", "--json"]).stdout)
            assert not status["rekeying"], status
            check_content(vault_format.read_vault(place.vault, NEW))
            return pin
    raise AssertionError("no PIN opens the vault: %s" % place.run(["change-pin"], [pins[0]]))


def after_init(place, _):
    if not os.path.exists(place.vault + "/vault.json"):
        place.must(["init"], [PIN, PIN])
    place.must(["add-passphrase"], [PIN, NEW, NEW])


def after_join(place, _):
    if not json.loads(place.must(["status", "--json"]).stdout)["pin"]:
        place.must(["init"], [vault_format.PASSPHRASE, PIN, PIN])
    opens_with(place, [PIN])


def after_restore(place, done):
    # Cut short before vault.json it is done again, and goes on.
    if not os.path.exists(place.vault + "/vault.json"):
        place.must(["restore", "BACKUP"], [vault_format.PASSPHRASE, PIN, PIN])
    after_join(place, done)


def after_change(place, _):
    opens_with(place, [NEXT_PIN, PIN])


def after_others(place, _):
    opens_with(place, [PIN])


def after_backup(place, done):
    copy = place.root + "/copy"
    if os.path.exists(copy):
        check_content(vault_format.read_backup(copy, vault_format.PASSPHRASE))
    else:
        assert done.returncode != 0
    opens_with(place, [PIN])


def vector(place, joined):
    shutil.copytree(HERE + "/vector/vault", place.vault)
    shutil.copy(HERE + "/vector/backup", place.backup)
    os.chmod(place.vault, 0o700)
    if joined:
        place.must(["init"], [vault_format.PASSPHRASE, PIN, PIN])


def empty(place):
    shutil.copy(HERE + "/vector/backup", place.backup)


SCENARIOS = [
    ("init", empty, ["init"], [PIN, PIN], after_init),
    ("init of a copy", lambda p: vector(p, False), ["init"], [vault_format.PASSPHRASE, PIN, PIN], after_join),
    ("restore", empty, ["restore", "BACKUP"], [vault_format.PASSPHRASE, PIN, PIN], after_restore),
    ("change-pin", lambda p: vector(p, True), ["change-pin"], [PIN, NEXT_PIN, NEXT_PIN], after_change),
    ("add-passphrase", lambda p: vector(p, True), ["add-passphrase", "--replace"], [PIN, NEW, NEW], after_others),
    ("backup", lambda p: vector(p, True), ["backup", "COPY"], [PIN], after_backup),
    ("rekey", lambda p: vector(p, True), ["rekey"], [PIN, NEW, NEW], after_others),
]


def check_order(trace):
    """Each name that appears was written and synced before, and its directory is synced after."""
    written, synced, waiting, changes = set(), set(), {}, 0
    for line in open(trace):
        line = re.sub(r"^\d+ +", "", line)
        call = line.split("(")[0]
        if not re.search(r"= \d", line):
            continue
        paths = re.findall(r"<([^>]*)>", line)
        names = re.findall(r'"([^"]*)"', line)
        if call == "write" and paths and ".hybrid-tmp-" in paths[0]:
            written.add(paths[0])
        elif call == "fsync":
            if paths[0] in written:
                synced.add(paths[0])
            waiting.pop(paths[0], None)
        elif call in ("linkat", "renameat", "renameat2"):
            source, target = paths[0] + "/" + names[0], paths[1] + "/" + names[1]
            assert source in synced, "not synced before its name appeared: %s" % line
            waiting[paths[1]] = target
            changes += 1
        elif call == "unlinkat" and ".hybrid-tmp-" not in names[0]:
            waiting[paths[0]] = names[0]
            changes += 1
        elif call == "mkdirat":
            waiting[paths[0]] = names[0]
            changes += 1
    assert not waiting, "directories that were not synced after: %s" % waiting
    assert changes > 0
    return changes


def main(arguments):
    program = os.path.abspath(arguments[0])
    every = int(arguments[arguments.index("--every") + 1]) if "--every" in arguments else 1
    total = {"kills": 0, "errors": 0, "ordered": 0}
    for name, prepare, command, answers, check in SCENARIOS:
        with Place(program) as base:
            prepare(base)
            with Place(program, base) as place:
                trace = place.root + "/trace"
                calls = "write," + CALLS
                done = place.run(command, answers, ["strace", "-f", "-y", "-s", "200", "-qq", "-e", "trace=" + calls, "-o", trace])
                assert done.returncode == 0, (name, done)
                ordered = check_order(trace)
                total["ordered"] += ordered
            counts = {"kills": 0, "errors": 0}
            for kind, injection in (("kills", "signal=KILL"), ("errors", "error=ENOSPC")):
                place_number = 1
                while True:
                    with Place(program, base) as place:
                        inject = "inject=%s:%s:when=%d" % (CALLS, injection, place_number)
                        trace = place.root + "/trace"
                        done = place.run(command, answers, ["strace", "-f", "-qq", "-e", "trace=" + CALLS, "-e", inject, "-o", trace])
                        text = open(trace).read()
                        if "INJECTED" not in text and "killed by SIGKILL" not in text:
                            break
                        if kind == "errors" and done.returncode != 0:
                            assert done.returncode in (66, 74, 75, 77), (name, place_number, done)
                            assert done.stderr.strip().startswith("hybrid-auth: "), done
                        try:
                            check(place, done)
                        except Exception:
                            print("%s, %s at %d: %s\n%s" % (name, injection, place_number, done, text), file=sys.stderr)
                            raise
                        counts[kind] += 1
                    place_number += every
                total[kind] += counts[kind]
            print("%-16s %3d names in order, %3d kills, %3d errors, nothing lost" % (name, ordered, counts["kills"], counts["errors"]), flush=True)
    print("%(ordered)d names in order, %(kills)d kills, %(errors)d errors, 0 losses" % total)


if __name__ == "__main__":
    main(sys.argv[1:])
