# SPDX-License-Identifier: Apache-2.0
"""Desktop, phone and relay in the guest, all run by a user without rights, and the site's side of ceremonies."""
import base64
import itertools
import json
import os
import secrets
import shutil
import signal
import time
from pathlib import Path

from bluez import BlueZ
from certificates import Certificates
from programs import Program
from relay import DOMAIN, HOST, Relay
from waiting import Failed, Waiting

PROGRAMS, RESULTS = Path("/mnt/programs"), Path("/mnt/results")
PINENTRY = Path(__file__).parents[2] / "chromium" / "pinentry"
USER = "ada"
PIN = "correct horse"
RP_ID, ORIGIN = "example.com", "https://example.com"


def as_user(*command):
    return ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--init-groups", *map(str, command)]


def encode(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Told:
    """A program that tells on standard error what happens, one JSON object a line."""

    def __init__(self, stage, name, command, text=None):
        self.stage, self.name = stage, name
        # A case may run a program more than once; each has files of its own.
        stem = f"{stage.case}-{next(stage.numbers):03}-{name}"
        self.output = stage.folder / f"{stem}.out"
        self.program = Program(
            name, as_user("sh", "-c", 'out=$1; shift; exec "$@" >"$out"', "sh", self.output, *command),
            log=RESULTS / f"{stem}.log", environment=stage.environment, text=text)
        self.begun = time.monotonic()

    @property
    def events(self):
        """All that it has told; a line that is not whole yet is left out."""
        lines = self.program.said().split("\n")[:-1]
        return [json.loads(line) for line in lines if line.startswith("{")]

    def until(self, what, **members):
        """Waits for the first event with these members, which must come before the program's end."""
        def look():
            ended = self.program.status is not None
            found = [event for event in self.events if members.items() <= event.items()]
            if not found and ended:
                raise Failed(f"{self.name} {self.program.ending} instead of {what}: {self.sentence}")
            return found and found[0]

        return self.stage.waiting.until(f"{self.name} to {what}", look, 90, pause=0.05)

    def ended(self, seconds=120):
        """Waits for its end; returns the exit status."""
        self.stage.waiting.until(f"{self.name} to end", lambda: self.program.status is not None, seconds, pause=0.05)
        return self.program.status

    def expect_end(self, status, code):
        """It ends with a status and names the cause; returns the sentence a person is shown."""
        seen = self.ended()
        named = [event["code"] for event in self.events if event["event"] == "error"]
        if (seen, named) != (status, [code]):
            raise Failed(f"{self.name} should end with {status} for {code}, and ended with {seen} for {named}: "
                         f"{self.sentence}")
        return self.sentence

    @property
    def sentence(self):
        """The line that ends it, or what else it said last."""
        for event in reversed(self.events):
            if event["event"] == "error":
                return f"{event['message']}; {event.get('remedy', '')}"
        return self.program.said().strip()[-300:]

    def interrupt(self):
        """Ctrl-C."""
        os.kill(self.program.pid, signal.SIGINT)
        return self.ended()

    def stop(self):
        self.program.stop()


class Stage:
    """What all cases stand on; `case` is the present one's name, and `name` that of the guest, for the relay's log."""

    def __init__(self, signals, name):
        self.waiting = Waiting(signals)
        self.bluez = BlueZ(self.waiting)
        self.case, self.results, self.numbers = "stage", RESULTS, itertools.count(1)
        self.folder = Path("/run/stage")
        self.folder.mkdir(mode=0o755)
        self.environment = {"PATH": "/usr/bin:/bin", "HOME": f"/home/{USER}", "LC_ALL": "C.UTF-8"}
        self.environment |= {"PERSON_PIN": PIN, "PERSON_ANSWER": "yes", "PERSON_LOG": str(self.folder / "person.log")}
        self._certificates = Certificates(self.folder / "certificates", HOST, dict(os.environ))
        for path in [self.folder, *self.folder.rglob("*")]:
            shutil.chown(path, USER, USER)
        self._relay = Relay(_RelayProgram, _RelayFolder(self.environment, name), self._certificates, self.waiting)
        self._account = encode(secrets.token_bytes(16))
        # Vaults with a passkey.
        self._registered = set()
        self._told = []

    def close(self):
        self.tidy()
        self._relay.stop()

    def tidy(self):
        """Ends whatever a case has left running."""
        for told in self._told:
            told.stop()
        self._told = []

    @property
    def _network(self):
        return ["--cacert", self._certificates.authority, "--connect-to", f"{HOST}:443:127.0.0.1:{self._relay.port}"]

    def desktop(self, registration=False, name="client", adapter="hci0", timeout=120, more=()):
        """`hybrid-client show-qr`, begun."""
        challenge = encode(secrets.token_bytes(32))
        if registration:
            options = {
                "rp": {"id": RP_ID, "name": "Example"}, "challenge": challenge, "attestation": "none",
                "user": {"id": self._account, "name": "ada@example.com", "displayName": "Ada L."},
                "pubKeyCredParams": [{"type": "public-key", "alg": -7}],
                "authenticatorSelection": {"residentKey": "required", "userVerification": "required"}}
        else:
            options = {"rpId": RP_ID, "challenge": challenge, "userVerification": "required"}
        command = [PROGRAMS / "hybrid-client", "show-qr", "--request", "-", "--origin", ORIGIN, "--print-url",
                   "--json", "--adapter", adapter, "--timeout", timeout, *self._network, *more]
        desktop = Told(self, name, command, json.dumps({"publicKey": options}))
        desktop.challenge, desktop.registration = challenge, registration
        self._told.append(desktop)
        return desktop

    def code(self, desktop):
        """The text of the code that it shows."""
        return desktop.until("show a code", event="qr")["text"]

    def phone(self, code, name="auth", adapter="hci1", vault="vault", timeout=60, more=()):
        """`hybrid-auth scan`, begun."""
        phone = Told(self, name, [
            PROGRAMS / "hybrid-auth", "scan", "--vault", self.folder / vault, "--tunnel-domain", DOMAIN,
            "--pinentry", PINENTRY, "--json", "--adapter", adapter, "--timeout", timeout, *self._network, *more,
            "-"],
            code + "\n")
        self._told.append(phone)
        return phone

    def finish(self, desktop, phone):
        """Both must end well, and the answer goes to the judges; returns the desktop's seconds."""
        statuses = (desktop.ended(), phone.ended())
        if statuses != (0, 0):
            raise Failed(f"client {statuses[0]}: {desktop.sentence}; auth {statuses[1]}: {phone.sentence}")
        seconds = time.monotonic() - desktop.begun
        lines = desktop.output.read_text(encoding="utf-8").splitlines()
        if len(lines) != 1:
            raise Failed(f"standard output has {len(lines)} lines and not the answer alone")
        entry = {"case": self.case, "rp": RP_ID, "origin": ORIGIN, "challenge": desktop.challenge,
                 "registration": desktop.registration, "response": json.loads(lines[0])}
        with open(RESULTS / "ceremonies.jsonl", "a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")
        for told in (desktop, phone):
            if "VIRTUAL RADIO" in told.program.said():
                raise Failed(f"{told.name} takes the system's own bus for a virtual one")
        return seconds

    def ceremony(self, registration=False, **adapters):
        """A whole one, from the command to the judged answer; returns its seconds."""
        desktop = self.desktop(registration, adapter=adapters.get("desktop", "hci0"))
        phone = self.phone(self.code(desktop), adapter=adapters.get("phone", "hci1"))
        seconds = self.finish(desktop, phone)
        self._told.remove(desktop)
        self._told.remove(phone)
        return seconds

    @property
    def asked(self):
        """All that the person at the phone was asked."""
        return (self.folder / "person.log").read_text(encoding="utf-8")

    @property
    def has_passkey(self):
        return "vault" in self._registered

    def need_passkey(self, vault="vault"):
        """Registers a passkey if this vault has none."""
        if vault not in self._registered:
            desktop = self.desktop(registration=True, name=f"register-{vault}")
            self.finish(desktop, self.phone(self.code(desktop), name=f"registered-{vault}", vault=vault))
            self._registered.add(vault)

    def has_registered(self):
        self._registered.add("vault")

    def deserted_code(self):
        """The code of a desktop that is gone: nobody will hear the phone that has scanned it."""
        desktop = self.desktop(name="deserted")
        code = self.code(desktop)
        if desktop.interrupt() != 130:
            raise Failed(f"interrupted, hybrid-client {desktop.program.ending}")
        return code

    def advertising(self, code, adapter="hci1", **options):
        """A phone whose advert is on the air."""
        phone = self.phone(code, adapter=adapter, **options)
        phone.until("advertise", event="state", state="advertising")
        self.waiting.until(f"{adapter} to send", lambda: self.bluez.adverts(adapter), 10)
        return phone


class _RelayProgram:
    relay = PROGRAMS / "hybrid-relay"


class _RelayFolder:
    """What the relay wants to know of a run's folder."""

    def __init__(self, environment, guest):
        self._environment, self._guest = environment, guest

    def path(self, name):
        # Guests after one another keep theirs in the same folder, and what one relay said does not speak of another.
        return RESULTS / f"{self._guest}-{name}"

    def environment(self):
        return self._environment
