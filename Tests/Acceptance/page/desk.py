# SPDX-License-Identifier: Apache-2.0
"""Environment of the page: radio, relay behind a gate, screen, Chromium, phone, site, and runs of hybrid-client."""
import contextlib
import json
from pathlib import Path

from air import Air
from certificates import Certificates
from gate import Gate
from phone import Phone
from programs import Program
from relay import DOMAIN, HOST, Relay
from relying_party import RelyingParty
from screen import Screen
from waiting import Waiting
from window import Window

ORIGIN = "http://localhost:4711"
PINENTRY = Path(__file__).with_name("pinentry")


class Desk(contextlib.AbstractContextManager):
    def __init__(self, programs, folder, signals):
        self.folder, self.waiting, self.complaints = folder, Waiting(signals), []
        self._programs, self._stack = programs, contextlib.ExitStack()
        self._number = 0

    def __enter__(self):
        try:
            environment = self.folder.environment()
            certificates = Certificates(self.folder.scratch / "certificates", HOST, environment)
            self.air = self._keep(Air(self._programs, self.folder, self.waiting))
            relay = self._keep(Relay(self._programs, self.folder, certificates, self.waiting))
            self.gate = self._keep(Gate(relay.port))
            self.screen = self._keep(Screen(self.folder, self.waiting))
            self.site = RelyingParty(ORIGIN, self.folder.path("site.jsonl"))
            self._phone = PatientPhone(self._programs, self.folder, self.air, relay, certificates, HOST, DOMAIN)
            self._route = ["--cacert", certificates.authority, "--connect-to",
                           f"{HOST}:443:127.0.0.1:{self.gate.port}"]
            self.window = self._keep(Window(self.folder, self.screen, self.waiting))
        except BaseException:
            self._stack.close()
            raise
        return self

    def _keep(self, part):
        def stop():
            self.complaints += part.stop()

        self._stack.callback(stop)
        return part

    def __exit__(self, *_):
        self._stack.close()

    def client(self, options, *, browser=None):
        """Starts hybrid-client with the site's options; it opens its page in Chromium, or in another program."""
        self._number += 1
        client = Client(self._number, options, self._programs, self.folder, [*self._route, "--adapter", "hci0"], {
            **self.screen.environment, "DBUS_SYSTEM_BUS_ADDRESS": self.air.address,
            "BROWSER": browser or str(self.window.opener)}, self.waiting)
        self._keep(client)
        return client

    def scan(self, code, person):
        """Scans a code with the phone; its user answers after a call of `person_may`."""
        self._number += 1
        phone = self._phone.scan(code, person, f"{self._number}")
        self._keep(phone)
        return phone

    def person_may(self, may=True):
        if may:
            self._phone.may.touch()
        else:
            self._phone.may.unlink(missing_ok=True)


class PatientPhone(Phone):
    """A phone whose user waits for permission to answer."""

    def __init__(self, programs, folder, *others):
        super().__init__(programs, folder, *others)
        self.may = folder.scratch / "person-may"
        self._environment["PERSON_MAY"] = str(self.may)
        self._command[self._command.index("--pinentry") + 1] = PINENTRY


class Client:
    """One run of hybrid-client."""

    def __init__(self, number, options, programs, folder, route, environment, waiting):
        self._waiting = waiting
        request = folder.scratch / f"request-{number}.json"
        request.write_text(json.dumps({"publicKey": options}), encoding="utf-8")
        self._output, self._errors = folder.path(f"client-{number}.out"), folder.path(f"client-{number}.err")
        self._program = Program(
            "hybrid-client",
            ["sh", "-c", 'exec "$@" 2>"$0"', self._errors, programs.client, "show-qr", "--open", "--request", request,
             "--origin", ORIGIN, "--timeout", "300", *route],
            log=self._output, environment=environment)

    @property
    def status(self):
        return self._program.status

    @property
    def said(self):
        return self._errors.read_text(encoding="utf-8") if self._errors.exists() else ""

    @property
    def answer(self):
        return self._output.read_text(encoding="utf-8")

    def ended(self, seconds=60):
        self._waiting.until("hybrid-client to end", lambda: self.status is not None, seconds)
        return self.status

    def stop(self):
        return self._program.stop()
