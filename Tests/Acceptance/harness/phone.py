# SPDX-License-Identifier: Apache-2.0
"""Phones: `hybrid-auth scan` with its user and its vault, and the lab's phone, which fails as scripted."""
import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from harness.programs import Program

PIN = "correct horse"
PINENTRY = Path(__file__).with_name("pinentry")


@dataclass(frozen=True)
class Person:
    """Behavior of the phone's user: yes, no, or never, which includes the PIN.

    With `permission`, the user does nothing until this file exists.
    """
    answer: str = "yes"
    pin: str = PIN
    permission: Path | None = None


@dataclass(frozen=True)
class Dialogue:
    """One dialogue with pinentry: its texts, and the commands for questions."""
    description: str
    questions: tuple


class Phone:
    """A vault and the runs of hybrid-auth that use it."""

    def __init__(self, programs, folder, radio, relay, certificates, host, domain, pinentry=PINENTRY):
        self._folder = folder
        self._vault = folder.phone / "vault"
        self._person_log = folder.path("pinentry.log")
        self._person_log.touch(mode=0o600)
        self._environment = folder.environment(
            DBUS_SYSTEM_BUS_ADDRESS=radio.address, XDG_STATE_HOME=str(folder.phone / "state"),
            PERSON_LOG=str(self._person_log))
        self._command = [
            programs.auth, "scan", "--vault", self._vault, "--tunnel-domain", domain, "--adapter", "hci1",
            "--pinentry", pinentry, "--cacert", certificates.authority,
            "--connect-to", f"{host}:443:127.0.0.1:{relay.port}", "--timeout", "300"]
        # Limits the wait for the client. If the script keeps the client away, the wait is short.
        self._scripted = [
            programs.lab, "phone", "--tunnel-domain", domain, "--adapter", "hci1", "--cacert", certificates.authority,
            "--connect-to", f"{host}:443:127.0.0.1:{relay.port}", "--timeout", "60", "--script"]

    def scan(self, code, person, name, options=()):
        """Starts hybrid-auth with the text of a code on its standard input."""
        return Program(
            "hybrid-auth", [*self._command, *options, "-"], log=self._folder.path(f"phone-{name}.log"),
            text=code + "\n", environment={**self._environment, "PERSON_PIN": person.pin, "PERSON_ANSWER": person.answer,
                         "PERSON_MAY": str(person.permission or "")})

    def play(self, code, script, name):
        """Starts the lab's phone, which has its own passkeys and a simulated user."""
        return Program("hybrid-lab phone", [*self._scripted, script, "-"], log=self._folder.path(f"phone-{name}.log"),
                       text=code + "\n", environment=self._environment)

    @property
    def has_vault(self):
        return (self._vault / "vault.json").exists()

    def records(self):
        """Returns the vault's record files, each with a digest of its content."""
        return {str(path.relative_to(self._vault)): hashlib.sha256(path.read_bytes()).hexdigest()
                for path in self._vault.glob("records/*/*") if not path.name.startswith(".")}

    def asks_more_than(self, count):
        """True if one dialogue after the first `count` asked the user for the PIN."""
        return any(question.startswith("GETPIN") for talk in self.dialogues()[count:] for question in talk.questions)

    def dialogues(self):
        """Returns all dialogues with the user so far."""
        talks = re.split(r"^dialogue$", self._person_log.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
        return [self._dialogue(talk) for talk in talks]

    @staticmethod
    def _dialogue(talk):
        shown, questions = "", []
        for line in talk.splitlines():
            command, _, text = line.removeprefix("< ").partition(" ")
            if line.startswith("< SETDESC "):
                shown = unquote(text)
            elif line.startswith(("< GETPIN", "< CONFIRM", "< MESSAGE")):
                questions.append(f"{command} {text}".strip())
        return Dialogue(shown, tuple(questions))
