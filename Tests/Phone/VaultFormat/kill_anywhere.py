#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kills `hybrid-auth vault …` at its n-th system call on a file of the vault or the local state, in any thread, or lets
that call fail, and checks the order of the writes. Afterwards the vault must have its previous contents, the same
command must succeed when it is run again, and a failure must be reported in one line with its exit status.

    kill_anywhere.py PROGRAM [--every K] [--seed S] [--only NAME]

K > 1 tries every K-th point only, starting at one that depends on the seed. The vault is read by vault_format.py, which
shares no code with the program and also wrote the vault and the local state that the commands start from. Needs strace
for the order of writes, and Linux 5.5 for the points (see watched_calls.py).
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
NEWER = "violin harvest copper meadow lantern"
OLD = vault_format.PASSPHRASE
CODE = re.compile("[0-9A-Z]{5}(?:-[0-9A-Z]{5}){5}")
# A pinentry that answers each GETPIN with the next line of a file, cancels if there is none, and confirms everything.
PINENTRY = """#!/bin/sh
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
    """A directory with a vault, a local state and a pinentry program."""

    def __init__(self, program, like=None):
        self.program = program
        self.root = os.path.realpath(tempfile.mkdtemp(prefix="vault-kill-"))
        if like:
            shutil.copytree(like.root, self.root, dirs_exist_ok=True)
        self.vault, self.backup, self.copy = (self.root + "/" + name for name in ("vault", "backup", "copy"))
        self.state, self.pinentry = self.root + "/state/hybrid", self.root + "/pinentry"
        with open(self.pinentry, "w") as file:
            file.write(PINENTRY)
        os.chmod(self.pinentry, 0o700)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.root, ignore_errors=True)

    def line(self, command):
        names = {"BACKUP": self.backup, "COPY": self.copy, "COPY2": self.copy + "2"}
        line = [self.program, "vault"] + [names.get(word, word) for word in command] + ["--vault", self.vault]
        return line + ([] if command[0] == "status" else ["--pinentry", self.pinentry])

    def environment(self, answers):
        with tempfile.NamedTemporaryFile("w", dir=self.root, prefix="answers-", delete=False) as file:
            file.write("".join(answer + "\n" for answer in answers))
        # A fixed iteration order of sets and dictionaries, so that the n-th call is always the same.
        environment = dict(os.environ, HOME=self.root, XDG_STATE_HOME=self.root + "/state", TEST_ANSWERS=file.name,
                           SWIFT_DETERMINISTIC_HASHING="1")
        environment.pop("DBUS_SYSTEM_BUS_ADDRESS", None)
        return environment

    def run(self, command, answers=(), number=None, error=None, stays=False):
        """Runs a subcommand and watches its system calls."""
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
        """Returns the result of read, or None if it is refused."""
        try:
            return read(*arguments)
        except (vault_format.Refused, OSError):
            return None

    def files(self):
        """Returns all files of vault and state with their contents, except the lock and the known paths."""
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


# Initial states of the commands.


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
    """One older record, one missing record, and one missing deletion whose passkey is back."""
    joined(place)
    folder = place.vault + record(1)
    os.remove(folder + "/" + next(name for name in os.listdir(folder) if name.startswith("3-")))
    shutil.rmtree(place.vault + record(2))
    os.remove(place.vault + record(3) + "/2-48494a4b4c4d4e4f")


ACCEPTED = dict(EXPECTED, passkeys=[dict(EXPECTED["passkeys"][0], user="ada")])


# Conditions after a successful command; each takes the place and the result of the command.


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
    content = place.opens(vault_format.read_vault, place.vault, NEW) or vault_format.read_vault(place.vault, NEWER)
    assert same(content, EXPECTED) and content["keys"] > EXPECTED["keys"]
    assert same(vault_format.read_vault(place.vault, CODE.search(ended.shown).group(0)), EXPECTED)
    assert len(place.slots()) == 2, "slots that open nothing remain"
    assert place.opens(vault_format.read_vault, place.vault, OLD) is None


def accepted(place, _):
    assert same(place.content(PIN), ACCEPTED)


# Ways to repeat an interrupted command; each returns the result.


def simply(command, *answers):
    return lambda place: place.must(command, list(answers))


def init_again(place):
    if not place.has_vault:
        return place.must(["init"], [PIN, PIN])
    # The vault was created, even if the success was not reported.
    place.must(["add-passphrase"], [PIN, NEW, NEW])
    return place.must(["status"])


def join_again(place):
    # Without a PIN slot the command is repeated; otherwise the PIN exists.
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


def rekey_again(place):
    # Opening the vault may have finished the interrupted rekey; its passphrase is then in use.
    again = place.run(["rekey"], [PIN, NEW, NEW])
    if again.status == 77 and "before" in again.errors:
        return place.must(["rekey"], [PIN, NEWER, NEWER])
    assert again.status == 0, again.errors
    return again


def backup_again(place):
    if not os.path.exists(place.copy):
        return place.must(["backup", "COPY"], [PIN])
    # A file with the final name is complete.
    assert same(vault_format.read_backup(place.copy, OLD), EXPECTED)
    return place.must(["backup", "COPY2"], [PIN])


@dataclasses.dataclass
class Scenario:
    """A command with its initial state, its effect, and the way to repeat it."""

    name: str
    prepare: Callable
    command: list
    answers: list
    is_done: Callable
    again: Callable
    # PINs of which one must open the vault for vault_format.py after any interruption; none if there may be no vault.
    pins: tuple = (PIN,)
    # Passkeys that exist before and after.
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
    # During a rekey vault_format.py cannot read the vault; the next command that opens it finishes the rekey.
    Scenario("rekey", joined, ["rekey"], [PIN, NEW, NEW], rekeyed, rekey_again, ()),
    Scenario("accept", rolled_back, ["accept"], [PIN], accepted, simply(["accept"], PIN),
             kept=keys_of(ACCEPTED)),
]


def check(scenario, place, ended):
    """Checks the state after a command was interrupted, failed, or succeeded."""
    if ended.status != 0 and place.files() == place.before:
        # Unchanged byte for byte; that this state works is known.
        return
    if scenario.pins:
        contents = [place.opens(place.content, pin) for pin in scenario.pins]
        there = [content for content in contents if content]
        assert len(there) == 1, "%d of %d PINs open the vault, not one" % (len(there), len(contents))
        # During accept and merge, an account may still have its previous name.
        assert scenario.kept <= keys_of(there[0]), "a passkey is lost"
    if ended.status == 0:
        scenario.is_done(place, ended)
    again = scenario.again(place)
    scenario.is_done(place, again)
    status = place.status()
    assert not status["rekeying"] and status["pin"], status


def errors_at(call):
    """Returns the errors of a call on a disk that is full, broken or not accessible."""
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
    """Checks that a failure is one line with a suitable exit status."""
    if ended.status == 0:
        return
    changes = call.changes or call.name == "flock"
    allowed = (74,) if changes else (66, 74, 77)
    assert ended.status in allowed, "exit %d is not one of %s" % (ended.status, allowed)
    lines = ended.errors.splitlines()
    assert len(lines) == 1 and lines[0].startswith("hybrid-auth: "), lines
    assert ended.output == "", ended.output


def attempt(job):
    """Tries one point; returns its kind, and the problem or None."""
    program, index, base, number, expected, error, stays = job
    scenario = SCENARIOS[index]
    kind = "kills" if error is None else "errors"
    what = "killed" if error is None else errno.errorcode[error] + (" from then on" if stays else "")
    with Place(program, base) as place:
        place.before = place.files()
        ended = place.run(scenario.command, scenario.answers, number, error, stays)
        try:
            assert ended.met, "the point was not reached"
            call = ended.calls[number - 1]
            assert str(call).replace(place.root, "") == expected, "unexpected call: %s" % call
            if error is not None:
                check_refusal(call, ended)
            else:
                assert ended.status == -9, ended.status
            check(scenario, place, ended)
        except Exception as problem:
            words = "%s: %s" % (type(problem).__name__, problem)
            return kind, "%s, %s at %d (%s): %s\n    %s" % (scenario.name, what, number, expected, words, ended.errors)
    return kind, None


def finished_calls(lines):
    """Yields the calls of a trace, at the time of their end; a call during which another thread ran has two lines."""
    begun = {}
    for line in lines:
        thread, _, call = line.partition(" ")
        call = call.lstrip()
        if call.endswith("<unfinished ...>\n"):
            begun[thread] = call[: -len(" <unfinished ...>\n")]
            continue
        end = re.match(r"<\.\.\. \w+ resumed>", call)
        yield begun.pop(thread) + call[end.end() :] if end else call


def check_order(trace):
    """Checks that each new name was written and synced before, and its directory is synced afterwards."""
    written, synced, waiting, changes = set(), set(), {}, 0
    for line in finished_calls(open(trace)):
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
    assert not waiting, "directories not synced afterwards: %s" % waiting
    assert changes > 0
    return changes


def points(program, index, base, every, chance):
    """Returns the jobs of one command, from an undisturbed run."""
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
