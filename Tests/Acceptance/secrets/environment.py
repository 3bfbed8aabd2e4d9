# SPDX-License-Identifier: Apache-2.0
"""Environment of secrets: radio, relay, phones, simulated prompts, and age with the plug-in."""
import os
import re
import shlex

import age
import fido2prf
import sealed
from harness.hybrid_key import LIMIT, KeyEnvironment
from harness.phone import Person
from harness.programs import Program, brief
from harness.relay import HOST
from harness.terminal import TerminalProgram
from harness.waiting import must
from python_phone import PythonPhone

# Clients start the plug-in without options, so this program in its place adds the way to the relay. It keeps the name
# by which it was started.
WRAPPER = """#!/bin/bash
key={key} route=({route})
case $1 in
    --age-plugin=*) exec -a "$0" "$key" "$@" "${{route[@]}}" ;;
    secret)
        case ${{2-}} in
            create | add-phone | check | derive | open | run) exec "$key" secret "$2" "${{route[@]}}" "${{@:3}}" ;;
        esac ;;
esac
exec "$key" "$@"
"""
KEY = "backup"
# The end of the question after a creation.
QUESTION = "on your phone now?"
COPY_QUESTION = "Its last six characters: "


class SecretsEnvironment(KeyEnvironment):
    """Everything that secrets from a phone need."""

    # Linked phones wait there.
    relay_options = ("--contact-host", HOST)

    def __init__(self, programs, folder, signals, another_age=None):
        super().__init__(programs, folder, signals)
        #: The search path without our programs; a folder with another release of age comes first.
        self.path = os.pathsep.join([*([str(another_age)] if another_age else []), os.environ["PATH"]])

    def start(self):
        super().start()
        self.tools = self.folder.scratch / "tools"
        self.tools.mkdir()
        self.key = self.tools / "hybrid-key"
        self.key.write_text(WRAPPER.format(key=shlex.quote(str(self.programs.key)),
                                           route=shlex.join(map(str, self.route))))
        self.key.chmod(0o755)
        # As packages install it.
        self.plugin = self.tools / "age-plugin-phone"
        self.plugin.symlink_to("hybrid-key")
        (self.tools / "age-plugin-fido2prf").symlink_to("hybrid-key")
        self.environment["PATH"] = f"{self.tools}:{self.path}"
        self.environment["XDG_CONFIG_HOME"] = str(self.folder.scratch / "config")
        self.secrets = self.folder.scratch / "config" / "hybrid" / "secrets"
        self.heading = f"age {brief(['age', '--version'], environment=self.environment).stdout.strip()}"
        #: The phone of most keys, and its user's copy of the key.
        self.quick = PythonPhone(self)
        self.copies = {}

    def after_case(self, name, failed):
        # The prompts of a case that failed must not meet the next one.
        self.prompts.forget()
        return []

    # ---- Programs ----------------------------------------------------------------------------------------------------

    def run(self, *argv, text=None, environment=None, pipe_input=False):
        """Starts a program without a terminal; its output is in a file."""
        name = os.path.basename(str(argv[0]))
        return self.keep(Program(name, argv, log=self.folder.path(f"{self.number()}-{name}.log"), text=text,
                                 environment=environment or self.environment, pipe_input=pipe_input))

    def shell(self, script, *arguments, **options):
        """Starts a script of the shell with arguments."""
        return self.run("sh", "-c", script, "sh", *arguments, **options)

    def secret(self, *words, **options):
        """Starts `hybrid-key secret` without a terminal."""
        return self.run(self.key, "secret", *words, **options)

    def on_terminal(self, *argv, with_output=False):
        """Starts a program on a terminal; `with_output` shows standard output there, too."""
        number = self.number()
        return self.keep(TerminalProgram(
            os.path.basename(str(argv[0])), argv, log=self.folder.path(f"{number}-terminal.log"),
            environment=self.environment, output=None if with_output else self.folder.path(f"{number}-output.log")))

    def brief(self, *argv, **options):
        """Runs a short program in which no phone is asked; returns the completed process."""
        before = self.prompts.count
        done = brief(list(map(str, argv)), environment=self.environment, **options)
        must(self.prompts.count == before, f"expected no prompt of {argv}; found {self.prompts.count - before}")
        return done

    # ---- Answers of the user -----------------------------------------------------------------------------------------

    def answer(self, prompt, phone=None, person=None):
        """Scans the code of a prompt, with a phone in Python or with hybrid-auth, and waits for the phone."""
        if phone is None:
            return self.ended(self.scan(prompt, person or Person()))
        session = phone.scan(prompt.code)
        self.waiting.until("the phone to finish", lambda: session.is_over, LIMIT)
        must(not session.faults, f"expected requests by the rules; found {session.faults}")
        return session

    def approved(self, program, *phones, until=None):
        """Answers the prompts of a program, one phone after another; returns the prompts.

        A phone is a `PythonPhone`, or a `Person` with hybrid-auth. Then waits for the end of the program, or for
        `until`, and fails if there was a further prompt.
        """
        prompts = []
        for phone in phones:
            prompt = self.prompts.next(program=program)
            prompts.append(prompt)
            if isinstance(phone, Person):
                self.answer(prompt, person=phone)
            else:
                self.answer(prompt, phone)
        count = self.prompts.count
        self.waiting.until(f"the end of {program.name}", until or (lambda: program.status is not None), 60)
        must(self.prompts.count == count, f"expected {len(phones)} prompts of {program.name}; found "
                                          f"{len(phones) + self.prompts.count - count}")
        return prompts

    # ---- Keys --------------------------------------------------------------------------------------------------------

    def create(self, name, *options, phones=None):
        """Creates a key on a terminal and confirms the copy, if there is one; returns prompts and terminal."""
        create = self.on_terminal(self.key, "secret", "create", name, "--open", *options)
        prompts = self.approved(create, *(phones or [self.quick, self.quick]), until=lambda: _asks(create, QUESTION))
        create.write("yes\n")
        if "--no-copy" not in options:
            self.copies[name] = self.shown_key(create)
            create.write(f"{self.copies[name][-6:]}\n")
        self.ended(create)
        must(create.status == 0, f"expected {name} to be created; {create.name} {create.ending}: {create.said()}")
        return prompts, create

    def shown_key(self, program):
        """Waits for an age key and the question about its copy on a terminal; returns the key.

        The program discards what was typed before the question.
        """
        def look():
            return _asks(program, COPY_QUESTION) and re.search(r"AGE-SECRET-KEY-1[A-Z0-9]{58}(?=\s)", program.said())

        return self.waiting.until("an age key on the terminal", look, LIMIT)[0]

    def judge_key(self, identifier, secret):
        """Returns a key that the judge seals for two phones and another recipient, with a comment in the payload."""
        identity, file_key, nonce = age.new_identity(), os.urandom(age.FILE_KEY), os.urandom(fido2prf.NONCE)
        stanzas = [fido2prf.wrap(file_key, nonce, fido2prf.results(one, nonce)) for one in (os.urandom(32), secret)]
        stanzas.append(age.wrap_x25519(file_key, age.point_of(age.private_key(age.new_identity()))))
        payload = f"# created by hand\n{identity}\n".encode()
        return sealed.Sealed(
            "by hand", "secret-abcdefghijklmnop.invalid", age.point_of(age.private_key(identity)),
            (sealed.Phone(b"another phone", ()), sealed.Phone(identifier)),
            age.seal(file_key, stanzas, payload).encoded)

    def file(self, name):
        return self.secrets / f"{name}.txt"

    def identity(self, name):
        """Returns the identity in a key's file, as the judge reads it."""
        must(self.file(name).exists(), f"expected the key {name}, which another case creates")
        line, = (line for line in self.file(name).read_text().splitlines() if not line.startswith("#"))
        return sealed.Sealed.read(line)

    def copy(self, name=KEY):
        """Returns the age key of a case that created it."""
        must(name in self.copies, f"expected the key {name}, which another case creates")
        return self.copies[name]


def _asks(program, text):
    """Returns true if a program on a terminal has asked a question; fails if it has ended."""
    must(program.status is None, f"expected {program.name} to ask {text!r}; it {program.ending}: {program.said()}")
    return text in program.said()


def succeeded(program, text=""):
    must(program.status == 0 and text in program.said(),
         f"expected {program.name} to succeed with {text!r}; it {program.ending}: {program.said()}")
    return program.said()


def failed(program, *texts):
    must(program.status not in (None, 0) and all(text in program.said() for text in texts),
         f"expected {program.name} to fail with {texts}; it {program.ending}: {program.said()}")
    return program.said()
