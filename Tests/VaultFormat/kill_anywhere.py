#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kills the real `hybrid-auth vault …` at its n-th system call on a file of the vault or the local state, whichever
thread makes it; lets that call fail; and looks at the order of the writes. After each the vault must hold what it
held, the same command must do its work when it is given again, and a failure must be told in one line with its code.

    kill_anywhere.py PROGRAM [--every K] [--seed S] [--only NAME]

K > 1 tries each K-th point only, beginning at one that the seed chooses. What is in the vault is read by
vault_format.py, which shares no code with the program, and has written both the vault and the local state that the
commands start from. Needs strace for the order of writes, and Linux 5.5 for the points (see watched_calls.py).
"""
import dataclasses
import json
import multiprocessing
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import errno
from typing import Callable

import vault_format
import watched_calls

HERE = os.path.dirname(os.path.abspath(__file__))
PIN, NEXT_PIN, NEW = "123456", "654321", "glider museum ochre tactful banjo"
OLD = vault_format.PASSPHRASE
CODE = re.compile("[0-9A-Z]{5}(?:-[0-9A-Z]{5}){5}")
# It answers each GETPIN with the next line of a file, cancels when there is none, and confirms everything.
PERSON = """#!/bin/sh
echo "OK ready"
while read -r line; do
  printf '%s\\n' "$line" >> "$TEST_ANSWERS.log"
  case "$line" in
    GETPIN*)
      count=0
      if [ -f "$TEST_ANSWERS.count" ]; then read -r count < "$TEST_ANSWERS.count"; fi
      count=$((count + 1)); echo $count > "$TEST_ANSWERS.count"
      number=0; answer=
      while [ $number -lt $count ] && { answer=; read -r answer; }; do number=$((number + 1)); done < "$TEST_ANSWERS"
      if [ -n "$answer" ]; then echo "D $answer"; echo OK; else echo "ERR 83886179 cancelled"; fi ;;
    BYE*) echo OK; exit 0 ;;
    *) echo OK ;;
  esac
done
"""
EXPECTED = json.load(open(HERE + "/vector/content.json"))


@dataclasses.dataclass
class Ending:
    status: int
    output: str
    errors: str
    shown: str
    calls: list
    met: bool


class Place:
    """A folder with a vault, a state and a person."""

    def __init__(self, program, like=None):
        self.program = program
        self.root = os.path.realpath(tempfile.mkdtemp(prefix="vault-kill-"))
        if like:
            shutil.copytree(like.root, self.root, dirs_exist_ok=True)
        self.vault, self.backup, self.copy = (self.root + "/" + name for name in ("vault", "backup", "copy"))
        self.state, self.person = self.root + "/state/hybrid", self.root + "/person"
        with open(self.person, "w") as file:
            file.write(PERSON)
        os.chmod(self.person, 0o700)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.root, ignore_errors=True)

    def line(self, command):
        names = {"BACKUP": self.backup, "COPY": self.copy, "COPY2": self.copy + "2"}
        line = [self.program, "vault"] + [names.get(word, word) for word in command] + ["--vault", self.vault]
        return line + ([] if command[0] == "status" else ["--pinentry", self.person])

    def environment(self, answers):
        with tempfile.NamedTemporaryFile("w", dir=self.root, prefix="answers-", delete=False) as file:
            file.write("".join(answer + "\n" for answer in answers))
        # Sets and dictionaries go through in the same order each time, so that the n-th call is the same one.
        environment = dict(os.environ, HOME=self.root, XDG_STATE_HOME=self.root + "/state", TEST_ANSWERS=file.name,
                           SWIFT_DETERMINISTIC_HASHING="1")
        environment.pop("DBUS_SYSTEM_BUS_ADDRESS", None)
        return environment

    def run(self, command, answers=(), number=None, error=None, stays=False):
        """Runs a subcommand, watched."""
        environment = self.environment(answers)
        watch = watched_calls.Watch([self.vault, self.state, self.copy], number, error, stays)
        with tempfile.TemporaryFile() as input, tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
            descriptors = [file.fileno() for file in (input, output, errors)]
            outcome = watched_calls.run(self.line(command), watch, environment, self.root, descriptors)
            texts = []
            for file in (output, errors):
                file.seek(0)
                texts.append(file.read().decode())
        log = environment["TEST_ANSWERS"] + ".log"
        shown = open(log).read() if os.path.exists(log) else ""
        return Ending(outcome.status, *texts, shown, outcome.calls, outcome.met)

    def traced(self, command, answers, trace):
        """Runs a subcommand under strace."""
        calls = "write,fsync,linkat,renameat,renameat2,unlinkat,mkdir,mkdirat"
        tracer = ["strace", "-f", "-y", "-s", "200", "-qq", "-e", "trace=" + calls, "-o", trace]
        return subprocess.run(tracer + self.line(command), env=self.environment(answers), cwd=self.root,
                              capture_output=True, text=True, timeout=120)

    def must(self, command, answers=()):
        done = self.run(command, answers)
        assert done.status == 0, (command, done.status, done.errors)
        return done

    def status(self):
        return json.loads(self.must(["status", "--json"]).output)

    @property
    def has_vault(self):
        return os.path.exists(self.vault + "/vault.json")

    def content(self, pin):
        return vault_format.read_with_pin(self.vault, self.state, pin)

    def opens(self, read, *arguments):
        """What a reading gives, None if it is refused."""
        try:
            return read(*arguments)
        except (vault_format.Refused, OSError):
            return None

    def files(self):
        """Every file of vault and state with its content, but for what only says where a vault was seen."""
        files = {}
        for top in (self.vault, self.state, self.copy):
            for folder, _, names in os.walk(top):
                for name in names:
                    path = os.path.join(folder, name)
                    if not path.startswith((self.state + "/known/", self.state + "/lock")) and name != "lock":
                        files[path[len(self.root):]] = open(path, "rb").read()
        return files

    def slots(self):
        folder = self.vault + "/slots"
        return [open(folder + "/" + name, "rb").read() for name in os.listdir(folder) if not name.startswith(".")]


def same(content, expected):
    return all(content[name] == expected[name] for name in ("vault", "passkeys", "deleted", "uses"))


def keys_of(content):
    return frozenset((passkey["id"], passkey["key"]) for passkey in content["passkeys"])


# What the commands start from.


def nothing(place):
    shutil.copy(HERE + "/vector/backup", place.backup)


def copied(place):
    nothing(place)
    shutil.copytree(HERE + "/vector/vault", place.vault)
    os.chmod(place.vault, 0o700)


def joined(place):
    copied(place)
    vault = vault_format.Vault(bytes.fromhex(EXPECTED["vault"]))
    here, there = bytes(range(0x40, 0x48)), bytes(range(0x48, 0x50))
    seen = {bytes([1]) * 16: (3, there, 0), bytes([2]) * 16: (1, here, 0), bytes([3]) * 16: (9, here, 1)}
    folder = place.state + "/" + vault.id.hex()
    os.makedirs(folder, 0o700)
    for name, content in vault.local_state(bytes(range(32)), PIN, here, seen).items():
        with open(folder + "/" + name, "wb") as file:
            file.write(content)


def record(number):
    return "/records/" + "%02d" % number * 16


def rolled_back(place):
    """One record older, one missing, one deletion missing whose passkey is back."""
    joined(place)
    folder = place.vault + record(1)
    os.remove(folder + "/" + next(name for name in os.listdir(folder) if name.startswith("3-")))
    shutil.rmtree(place.vault + record(2))
    os.remove(place.vault + record(3) + "/2-48494a4b4c4d4e4f")


ACCEPTED = dict(EXPECTED, passkeys=[dict(EXPECTED["passkeys"][0], user="ada")])


# What holds once a command has done its work; each takes the place and how the command ended.


def made(place, _):
    assert place.has_vault and place.content(PIN)["passkeys"] == []


def opens_here(place, _):
    assert same(place.content(PIN), EXPECTED)


def pin_changed(place, _):
    assert same(place.content(NEXT_PIN), EXPECTED)


def passphrase_replaced(place, _):
    assert same(vault_format.read_vault(place.vault, NEW), EXPECTED)
    assert sorted(slot[10] for slot in place.slots()) == [2, 3]
    assert place.opens(vault_format.read_vault, place.vault, OLD) is None


def code_replaced(place, ended):
    code = CODE.search(ended.shown).group(0)
    assert same(vault_format.read_vault(place.vault, code), EXPECTED)
    assert sorted(slot[10] for slot in place.slots()) == [2, 3]


def backed_up(place, ended):
    path = place.copy + "2" if os.path.exists(place.copy + "2") else place.copy
    assert same(vault_format.read_backup(path, OLD), EXPECTED)


def rekeyed(place, ended):
    content = vault_format.read_vault(place.vault, NEW)
    assert same(content, EXPECTED) and content["keys"] > EXPECTED["keys"]
    assert same(vault_format.read_vault(place.vault, CODE.search(ended.shown).group(0)), EXPECTED)
    assert len(place.slots()) == 2, "slots that open nothing are left"
    assert place.opens(vault_format.read_vault, place.vault, OLD) is None


def accepted(place, _):
    assert same(place.content(PIN), ACCEPTED)


# How a command is given again after it was cut short; gives how that ended.


def simply(command, *answers):
    return lambda place: place.must(command, list(answers))


def init_again(place):
    if not place.has_vault:
        return place.must(["init"], [PIN, PIN])
    # It was made, whatever was not told.
    place.must(["add-passphrase"], [PIN, NEW, NEW])
    return place.must(["status"])


def join_again(place):
    # Until the PIN slot is there it is asked for again, then the PIN is there.
    if not place.status()["pin"]:
        place.must(["init"], [OLD, PIN, PIN])
    return place.must(["backup", "COPY"], [PIN])


def restore_again(place):
    if not place.has_vault:
        return place.must(["restore", "BACKUP"], [OLD, PIN, PIN])
    return place.must(["restore", "BACKUP"], [PIN])


def change_again(place):
    pin = PIN if place.opens(place.content, PIN) else NEXT_PIN
    return place.must(["change-pin"], [pin, NEXT_PIN, NEXT_PIN])


def backup_again(place):
    if not os.path.exists(place.copy):
        return place.must(["backup", "COPY"], [PIN])
    # What stands under its name is whole.
    assert same(vault_format.read_backup(place.copy, OLD), EXPECTED)
    return place.must(["backup", "COPY2"], [PIN])


@dataclasses.dataclass
class Scenario:
    """A command, what it starts from, what it does, and how it is given again."""

    name: str
    prepare: Callable
    command: list
    answers: list
    is_done: Callable
    again: Callable
    # PINs of which one must open what is there for another program, whenever it is cut short; none where there may
    # be no vault.
    pins: tuple = (PIN,)
    # Passkeys that are there before and after.
    kept: frozenset = keys_of(EXPECTED)


SCENARIOS = [
    Scenario("init", nothing, ["init"], [PIN, PIN], made, init_again, ()),
    Scenario("init of a copy", copied, ["init"], [OLD, PIN, PIN], opens_here, join_again, ()),
    Scenario("restore", nothing, ["restore", "BACKUP"], [OLD, PIN, PIN], opens_here, restore_again, ()),
    Scenario("restore into", rolled_back, ["restore", "BACKUP"], [PIN], opens_here, simply(["restore", "BACKUP"], PIN),
             kept=keys_of(ACCEPTED)),
    Scenario("change-pin", joined, ["change-pin"], [PIN, NEXT_PIN, NEXT_PIN], pin_changed, change_again,
             (PIN, NEXT_PIN)),
    Scenario("PIN forgotten", joined, ["change-pin", "--forgotten"], [OLD, NEXT_PIN, NEXT_PIN], pin_changed,
             simply(["change-pin", "--forgotten"], OLD, NEXT_PIN, NEXT_PIN), (PIN, NEXT_PIN)),
    Scenario("add-passphrase", joined, ["add-passphrase", "--replace"], [PIN, NEW, NEW], passphrase_replaced,
             simply(["add-passphrase", "--replace"], PIN, NEW, NEW)),
    Scenario("recovery-code", joined, ["recovery-code", "--replace"], [PIN], code_replaced,
             simply(["recovery-code", "--replace"], PIN)),
    Scenario("backup", joined, ["backup", "COPY"], [PIN], backed_up, backup_again),
    # Between its keys a vault is read by no other program; the next command that opens it ends that.
    Scenario("rekey", joined, ["rekey"], [PIN, NEW, NEW], rekeyed, simply(["rekey"], PIN, NEW, NEW), ()),
    Scenario("accept", rolled_back, ["accept"], [PIN], accepted, simply(["accept"], PIN),
             kept=keys_of(ACCEPTED)),
]


def check(scenario, place, ended):
    """What must hold after a command was cut short, refused, or did its work all the same."""
    if ended.status != 0 and place.files() == place.before:
        # Byte for byte what it was; that this opens and that the command goes well is known.
        return
    if scenario.pins:
        contents = [place.opens(place.content, pin) for pin in scenario.pins]
        there = [content for content in contents if content]
        assert len(there) == 1, "one PIN opens the vault, and not %d of %d" % (len(there), len(contents))
        # While it is taken as it is or united, an account's name may be the one before.
        assert scenario.kept <= keys_of(there[0]), "a passkey is lost"
    if ended.status == 0:
        scenario.is_done(place, ended)
    again = scenario.again(place)
    scenario.is_done(place, again)
    status = place.status()
    assert not status["rekeying"] and status["pin"], status


def errors_at(call):
    """How a call may fail on a disk that is full, broken, or not ours."""
    if call.name in ("write", "pwrite64", "ftruncate"):
        return [errno.ENOSPC, errno.EIO]
    if call.name in ("fsync", "fdatasync"):
        return [errno.EIO]
    if call.name == "read":
        return [errno.EIO]
    if call.creates or call.name in ("linkat", "renameat", "renameat2", "mkdir", "mkdirat"):
        return [errno.ENOSPC, errno.EACCES]
    return [errno.EACCES, errno.EIO]


def check_refusal(call, ended):
    """One clear line, and the code of what went wrong."""
    if ended.status == 0:
        return
    changes = call.changes or call.name == "flock"
    allowed = (74,) if changes else (66, 74, 77)
    assert ended.status in allowed, "exit %d is not one of %s" % (ended.status, allowed)
    lines = ended.errors.splitlines()
    assert len(lines) == 1 and lines[0].startswith("hybrid-auth: "), lines
    assert ended.output == "", ended.output


def attempt(job):
    """One point; gives its kind and what was broken there, None if nothing was."""
    program, index, base, number, expected, error, stays = job
    scenario = SCENARIOS[index]
    kind = "kills" if error is None else "errors"
    what = "killed" if error is None else errno.errorcode[error] + (" from there on" if stays else "")
    with Place(program, base) as place:
        place.before = place.files()
        ended = place.run(scenario.command, scenario.answers, number, error, stays)
        try:
            assert ended.met, "the point was not reached"
            call = ended.calls[number - 1]
            assert str(call).replace(place.root, "") == expected, "another call was there: %s" % call
            if error is not None:
                check_refusal(call, ended)
            else:
                assert ended.status == -9, ended.status
            check(scenario, place, ended)
        except Exception as problem:
            words = "%s: %s" % (type(problem).__name__, problem)
            return kind, "%s, %s at %d (%s): %s\n    %s" % (scenario.name, what, number, expected, words, ended.errors)
    return kind, None


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


def points(program, index, base, every, chance):
    """The jobs of one command, from a plain run of it."""
    scenario = SCENARIOS[index]
    with Place(program, base) as place:
        plain = place.run(scenario.command, scenario.answers)
        assert plain.status == 0, (scenario.name, plain)
        scenario.is_done(place, plain)
        calls = [(str(call).replace(place.root, ""), call) for call in plain.calls]
    jobs = []
    for number, (name, call) in enumerate(calls, 1):
        if call.name != "read":
            jobs.append((number, name, None, False))
        jobs += [(number, name, error, False) for error in errors_at(call)]
        if call.changes and call.name != "unlinkat":
            jobs.append((number, name, errno.ENOSPC, True))
    kinds = [[job for job in jobs if job[2] is None], [job for job in jobs if job[2] is not None]]
    return [
        (program, index, base) + job
        for kind in kinds
        for job in kind[chance.randrange(min(every, len(kind))) :: every]
    ]


def option(arguments, name, default):
    return arguments[arguments.index(name) + 1] if name in arguments else default


def main(arguments):
    program = os.path.abspath(arguments[0])
    every, only = int(option(arguments, "--every", "1")), option(arguments, "--only", "")
    chance = random.Random(int(option(arguments, "--seed", "1")))
    total = {"ordered": 0, "kills": 0, "errors": 0, "losses": 0}
    with multiprocessing.Pool(os.cpu_count()) as pool:
        for index, scenario in enumerate(SCENARIOS):
            if only and only not in scenario.name:
                continue
            with Place(program) as base:
                scenario.prepare(base)
                with Place(program, base) as place:
                    trace = place.root + "/trace"
                    done = place.traced(scenario.command, scenario.answers, trace)
                    assert done.returncode == 0, (scenario.name, done)
                    counts = {"ordered": check_order(trace), "kills": 0, "errors": 0, "losses": 0}
                for kind, problem in pool.imap_unordered(attempt, points(program, index, base, every, chance)):
                    counts[kind] += 1
                    if problem:
                        counts["losses"] += 1
                        print(problem, file=sys.stderr, flush=True)
            print("%-16s %3d names in order, %3d kills, %3d errors, %d losses"
                  % (scenario.name, counts["ordered"], counts["kills"], counts["errors"], counts["losses"]), flush=True)
            for name in total:
                total[name] += counts[name]
    print("%(ordered)d names in order, %(kills)d kills, %(errors)d errors, %(losses)d losses" % total)
    sys.exit(1 if total["losses"] else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
