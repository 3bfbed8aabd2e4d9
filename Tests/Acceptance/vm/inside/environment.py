# SPDX-License-Identifier: Apache-2.0
"""Client, phone and relay in the guest, run by an unprivileged user, and the site's part of ceremonies."""
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
from harness.certificates import Certificates
from harness.programs import Program
from harness.relay import DOMAIN, HOST, Relay
from harness.waiting import Failed, Waiting

PROGRAMS, RESULTS = Path("/mnt/programs"), Path("/mnt/results")
PINENTRY = Path(__file__).parents[2] / "harness" / "pinentry"
USER = "ada"
PIN = "correct horse"
RP_ID, ORIGIN = "example.com", "https://example.com"


def as_user(*command):
    return ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--init-groups", *map(str, command)]


def encode(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class ReportingProgram:
    """A program that reports events on standard error, one JSON object per line."""

    def __init__(self, env, name, command, text=None):
        self.env, self.name = env, name
        # A case may run a program more than once; each run has its own files.
        stem = f"{env.case}-{next(env.numbers):03}-{name}"
        self.output = env.folder / f"{stem}.out"
        self.program = Program(
            name, as_user("sh", "-c", 'out=$1; shift; exec "$@" >"$out"', "sh", self.output, *command),
            log=RESULTS / f"{stem}.log", environment=env.environment, text=text)
        self.begun = time.monotonic()

    @property
    def events(self):
        """All events so far; an incomplete line is not included."""
        lines = self.program.said().split("\n")[:-1]
        return [json.loads(line) for line in lines if line.startswith("{")]

    def until(self, what, **members):
        """Waits for the first event with these members, which must come before the program's end."""
        def look():
            ended = self.program.status is not None
            found = [event for event in self.events if members.items() <= event.items()]
            if not found and ended:
                raise Failed(f"expected {self.name} to {what}; it {self.program.ending}: {self.sentence}")
            return found and found[0]

        return self.env.waiting.until(f"{self.name} to {what}", look, 90, pause=0.05)

    def ended(self, seconds=120):
        """Waits for the end; returns the exit status."""
        self.env.waiting.until(f"{self.name} to end", lambda: self.program.status is not None, seconds, pause=0.05)
        return self.program.status

    def expect_end(self, status, code):
        """Checks exit status and error code; returns the sentence for the user."""
        seen = self.ended()
        named = [event["code"] for event in self.events if event["event"] == "error"]
        if (seen, named) != (status, [code]):
            raise Failed(f"expected {self.name} to end with {status} for {code}; found {seen} for {named}: "
                         f"{self.sentence}")
        return self.sentence

    @property
    def sentence(self):
        """The error message, or else the last output."""
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


class TestEnvironment:
    """Environment of all cases; `case` is the name of the current one, and `name` that of the guest, for the
    relay's log.
    """

    def __init__(self, signals, name):
        self.waiting = Waiting(signals)
        self.bluez = BlueZ(self.waiting)
        self.case, self.results, self.numbers = "start", RESULTS, itertools.count(1)
        self.folder = Path("/run/hybrid-test")
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
        self.programs = []

    def close(self):
        self.tidy()
        self._relay.stop()

    def tidy(self):
        """Ends all programs of a case."""
        for program in self.programs:
            program.stop()
        self.programs = []

    @property
    def network(self):
        return ["--cacert", self._certificates.authority, "--connect-to", f"{HOST}:443:127.0.0.1:{self._relay.port}"]

    def client(self, registration=False, name="client", adapter="hci0", timeout=120, more=()):
        """Starts `hybrid-client show-qr`."""
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
                   "--json", "--adapter", adapter, "--timeout", timeout, *self.network, *more]
        client = ReportingProgram(self, name, command, json.dumps({"publicKey": options}))
        client.challenge, client.registration = challenge, registration
        self.programs.append(client)
        return client

    def code(self, client):
        """Returns the text of the client's code."""
        return client.until("show a code", event="qr")["text"]

    def phone(self, code, name="auth", adapter="hci1", vault="vault", timeout=60, more=(), before=()):
        """Starts `hybrid-auth scan`, under the command `before` if it is not empty."""
        phone = ReportingProgram(self, name, [
            *before, PROGRAMS / "hybrid-auth", "scan", "--vault", self.folder / vault, "--tunnel-domain", DOMAIN,
            "--pinentry", PINENTRY, "--json", "--adapter", adapter, "--timeout", timeout, *self.network, *more,
            "-"],
            code + "\n")
        self.programs.append(phone)
        return phone

    def doctor(self, before=()):
        """Returns the report of `hybrid-client doctor`, under the command `before` if it is not empty."""
        doctor = ReportingProgram(self, "doctor", [
            *before, PROGRAMS / "hybrid-client", "doctor", "--json", "--timeout", "5", *self.network])
        self.programs.append(doctor)
        doctor.ended()
        return json.loads(doctor.output.read_text(encoding="utf-8"))

    def finish(self, client, phone):
        """Checks that both succeed, and stores the response for the judges; returns the client's duration in
        seconds.
        """
        statuses = (client.ended(), phone.ended())
        if statuses != (0, 0):
            raise Failed(f"client {statuses[0]}: {client.sentence}; auth {statuses[1]}: {phone.sentence}")
        seconds = time.monotonic() - client.begun
        lines = client.output.read_text(encoding="utf-8").splitlines()
        if len(lines) != 1:
            raise Failed(f"expected one line of standard output, the response; found {len(lines)}")
        entry = {"case": self.case, "rp": RP_ID, "origin": ORIGIN, "challenge": client.challenge,
                 "registration": client.registration, "response": json.loads(lines[0])}
        with open(RESULTS / "ceremonies.jsonl", "a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")
        for program in (client, phone):
            if "VIRTUAL RADIO" in program.program.said():
                raise Failed(f"expected {program.name} to treat the system bus as a real radio; it reports a virtual "
                             "one")
        return seconds

    def ceremony(self, registration=False, **adapters):
        """Runs a complete ceremony, from the command to the stored response; returns its duration in seconds."""
        client = self.client(registration, adapter=adapters.get("client", "hci0"))
        phone = self.phone(self.code(client), adapter=adapters.get("phone", "hci1"))
        seconds = self.finish(client, phone)
        self.programs.remove(client)
        self.programs.remove(phone)
        return seconds

    @property
    def asked(self):
        """All texts of the phone's prompts."""
        return (self.folder / "person.log").read_text(encoding="utf-8")

    @property
    def has_passkey(self):
        return "vault" in self._registered

    def need_passkey(self, vault="vault"):
        """Registers a passkey if this vault has none."""
        if vault not in self._registered:
            client = self.client(registration=True, name=f"register-{vault}")
            self.finish(client, self.phone(self.code(client), name=f"registered-{vault}", vault=vault))
            self._registered.add(vault)

    def has_registered(self):
        self._registered.add("vault")

    def abandoned_code(self):
        """Returns the code of a client that has ended, so that no client receives the phone's advert."""
        client = self.client(name="deserted")
        code = self.code(client)
        if client.interrupt() != 130:
            raise Failed(f"expected status 130 of an interrupted hybrid-client; it {client.program.ending}")
        return code

    def advertising(self, code, adapter="hci1", **options):
        """Returns a phone that is advertising."""
        phone = self.phone(code, adapter=adapter, **options)
        phone.until("advertise", event="state", state="advertising")
        self.waiting.until(f"{adapter} to advertise", lambda: self.bluez.adverts(adapter), 10)
        return phone


class _RelayProgram:
    relay = PROGRAMS / "hybrid-relay"


class _RelayFolder:
    """The properties of a run's folder that the relay needs."""

    def __init__(self, environment, guest):
        self._environment, self._guest = environment, guest

    def path(self, name):
        # Successive guests use the same folder; each relay needs its own log.
        return RESULTS / f"{self._guest}-{name}"

    def environment(self):
        return self._environment
