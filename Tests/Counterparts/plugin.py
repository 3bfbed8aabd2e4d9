#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Client of age's plug-in protocol (C2SP `age-plugin.md`), which performs the conversations of `secrets.json`.

  plugin.py PROGRAM [NAME…]     the conversations in which no phone is asked, or those named

Other conversations need a phone, which a test provides: see `Conversation`.
"""
import json
import os
import subprocess
import sys
from dataclasses import dataclass

import age
import fido2prf
from age import Stanza

VECTORS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Vectors", "secrets.json")
IDENTITY, RECIPIENT = "identity-v1", "recipient-v1"
DONE = Stanza("done")
# Commands that the plug-in sends without a result for the file.
TALK = ("msg", "confirm", "request-secret", "request-public")


class PluginFailed(Exception):
    """The plug-in ended early or wrote something else than the protocol."""


class Plugin:
    """A running plug-in; closing its input is what a client's death looks like."""

    def __init__(self, program, machine, environment=None, arguments=(), stderr=None):
        words = [*map(str, program if isinstance(program, list) else [program]), f"--age-plugin={machine}", *arguments]
        self.process = subprocess.Popen(words, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=stderr, start_new_session=True)

    def send(self, *stanzas):
        self.write(b"".join(stanza.encoded for stanza in stanzas))

    def write(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def receive(self):
        """Returns the next stanza."""
        def next_line():
            line = self.process.stdout.readline()
            if not line.endswith(b"\n") or not line.isascii():
                raise PluginFailed(f"instead of a line: {line!r}")
            return line[:-1].decode()

        return age.read_stanza(next_line)

    def answers(self, answer=lambda command: Stanza("ok")):
        """Answers command after command; returns all commands before `done`."""
        commands = []
        while (command := self.receive()) != DONE:
            commands.append(command)
            self.send(answer(command))
        return commands

    def end(self, seconds=30):
        """Closes the input and returns the exit status; the output must have ended."""
        self.process.stdin.close()
        rest = self.process.stdout.read()
        if rest:
            raise PluginFailed(f"after done: {rest[:80]!r}")
        return self.process.wait(seconds)


def converse(program, machine, phase1, environment=None, stderr=None):
    """Performs a whole conversation; returns the commands and the exit status."""
    plugin = Plugin(program, machine, environment, stderr=stderr)
    plugin.write(phase1)
    return plugin.answers(), plugin.end()


def unwrap(program, identities, files, environment=None):
    """Asks for the file keys of files, each a list of stanzas; returns them by the number of the file."""
    plugin = Plugin(program, IDENTITY, environment)
    plugin.send(*(Stanza("add-identity", (identity,)) for identity in identities))
    for number, stanzas in enumerate(files):
        plugin.send(*(Stanza("recipient-stanza", (str(number), one.type, *one.arguments), one.body)
                      for one in stanzas))
    plugin.send(DONE)
    commands = plugin.answers()
    plugin.end()
    return {int(one.arguments[0]): one.body for one in commands if one.type == "file-key"}


def wrap(program, identities, file_keys, environment=None):
    """Wraps file keys for identities; returns the stanzas by the number of the file key."""
    plugin = Plugin(program, RECIPIENT, environment)
    plugin.send(*(Stanza("add-identity", (identity,)) for identity in identities))
    plugin.send(*(Stanza("wrap-file-key", (), key) for key in file_keys), DONE)
    commands = plugin.answers()
    plugin.end()
    found = {}
    for one in commands:
        if one.type == "recipient-stanza":
            number, kind, *arguments = one.arguments
            found.setdefault(int(number), []).append(Stanza(kind, tuple(arguments), one.body))
    return found


@dataclass(frozen=True)
class Conversation:
    """A conversation of the vectors.

    `phone` is `no` (there is no such passkey), `deny`, or `key:` and the passkeys' secret. The phone must be asked
    `approvals` times. `sealed_key` is the key in all sealed identities.
    """

    name: str
    machine: str
    phase1: bytes
    phone: str
    approvals: int
    expect: tuple
    sealed_key: str

    @classmethod
    def of(cls, case, sealed_key):
        return cls(case["name"], case["machine"], case["phase1"].encode(), case["test_phone"], case["approvals"],
                   tuple(case["expect"]), sealed_key)

    @property
    def identities(self):
        """The identities in the first phase, whether they are well-formed or not."""
        return [stanza.arguments[0] for stanza in self.stanzas if stanza.type == "add-identity"]

    @property
    def stanzas(self):
        next_line, rest = age.lines_of(self.phase1)
        found = []
        while rest():
            found.append(age.read_stanza(next_line))
        return found

    def faults(self, commands):
        """Returns what is wrong with a plug-in's commands."""
        found = [command for command in commands if command.type not in TALK]
        described = [(one.type, *one.arguments) for one in found]
        if len(found) != len(self.expect):
            return [f"expected {[(one['command'], *one['args']) for one in self.expect]}; found {described}"]
        faults = [f"expected {wanted}; found {one}" for one, wanted in zip(found, self.expect)
                  if not _matches(one, wanted)]
        wrapped = [one for one in found if one.type == "recipient-stanza"]
        if len({one.arguments[-1] for one in wrapped}) != len(wrapped):
            faults.append("a nonce or a share that was used twice")
        return faults + [f"a stanza that does not open: {one}" for one in wrapped if not faults and not self._opens(one)]

    def _opens(self, command):
        """Returns true if the phone, or the sealed key, finds the file key in a stanza."""
        keys = [stanza.body for stanza in self.stanzas if stanza.type == "wrap-file-key"]
        number, kind, *arguments = command.arguments
        stanza = Stanza(kind, tuple(arguments), command.body)
        try:
            if kind == fido2prf.LABEL:
                secret = bytes.fromhex(self.phone.removeprefix("key:"))
                found = fido2prf.unwrap(stanza, fido2prf.results(secret, fido2prf.nonce_of(stanza)))
            else:
                found = age.unwrap_x25519(stanza, age.private_key(self.sealed_key))
        except ValueError:
            return False
        return found == keys[int(number)]

    def perform(self, program, environment=None, stderr=None):
        """Returns what is wrong with a plug-in."""
        try:
            commands, status = converse(program, self.machine, self.phase1, environment, stderr)
        except (PluginFailed, ValueError, OSError) as error:
            return [f"{type(error).__name__}: {error}"]
        return self.faults(commands) + ([f"expected status 0; found {status}"] if status else [])


def _matches(command, wanted):
    arguments = list(command.arguments)
    if command.type != wanted["command"]:
        return False
    if command.type == "error":
        # The texts of errors are free, but there must be one.
        return arguments == wanted["args"] and bool(command.body)
    if wanted.get("random"):
        return arguments[:-1] == wanted["args"] and len(command.body) == 32
    return arguments == wanted["args"] and command.body.hex() == wanted.get("body_hex", "")


def conversations():
    with open(VECTORS, encoding="utf-8") as file:
        vectors = json.load(file)
    return [Conversation.of(case, vectors["sealed_identity"]["age_identity"]) for case in vectors["plugin"]["cases"]]


def main():
    program, *names = sys.argv[1:]
    chosen = [one for one in conversations() if (one.name in names if names else not one.approvals)]
    failed = 0
    for one in chosen:
        faults = one.perform(program)
        failed += bool(faults)
        print(f"{'FAILED' if faults else 'passed'}  {one.name}", *faults, sep="\n  ")
    print(f"{len(chosen) - failed} passed, {failed} failed")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
