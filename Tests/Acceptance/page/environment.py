# SPDX-License-Identifier: Apache-2.0
"""Environment of the page: radio, relay behind a gate, screen, Chromium, phone, site, and runs of hybrid-client."""
import json
from dataclasses import replace

from gate import Gate
from harness.certificates import Certificates
from harness.environment import TestEnvironment
from harness.phone import Phone
from harness.programs import Program
from harness.radio import VirtualRadio
from harness.relay import DOMAIN, HOST, Relay
from harness.relying_party import RelyingParty
from harness.screen import Screen
from harness.waiting import Waiting
from window import Window

ORIGIN = "http://localhost:4711"


class PageEnvironment(TestEnvironment):
    """Everything that a run of hybrid-client with its page needs."""

    def __init__(self, programs, folder, signals):
        super().__init__()
        self.folder, self.waiting = folder, Waiting(signals)
        self._programs, self._number = programs, 0

    def start(self):
        environment = self.folder.environment()
        certificates = Certificates(self.folder.scratch / "certificates", HOST, environment)
        self.radio = self.keep(VirtualRadio(self._programs, self.folder, self.waiting))
        relay = self.keep(Relay(self._programs, self.folder, certificates, self.waiting))
        self.gate = self.keep(Gate(relay.port))
        self.screen = self.keep(Screen(self.folder, self.waiting))
        self.site = RelyingParty(ORIGIN, self.folder.path("site.jsonl"))
        self._permission = self.folder.scratch / "person-may"
        self._phone = Phone(self._programs, self.folder, self.radio, relay, certificates, HOST, DOMAIN)
        self._route = ["--cacert", certificates.authority, "--connect-to",
                       f"{HOST}:443:127.0.0.1:{self.gate.port}"]
        self.window = self.keep(Window(self.folder, self.screen, self.waiting))

    @property
    def heading(self):
        return self.window.version

    def after_case(self, name, failed):
        """Returns Chromium's complaints about our page; takes a picture after a failure."""
        complaints = [f"Chromium reports: {text}" for text in self.window.complaints()]
        if failed or complaints:
            self.screen.picture(self.folder.path(f"failure-{name}.png"))
        return complaints

    def client(self, options, *, browser=None):
        """Starts hybrid-client with the site's options; it opens its page in Chromium, or in another program."""
        self._number += 1
        client = Client(self._number, options, self._programs, self.folder, [*self._route, "--adapter", "hci0"], {
            **self.screen.environment, "DBUS_SYSTEM_BUS_ADDRESS": self.radio.address,
            "BROWSER": browser or str(self.window.opener)}, self.waiting)
        self.keep(client)
        return client

    def scan(self, code, person):
        """Scans a code with the phone; its user answers after a call of `person_may`."""
        self._number += 1
        phone = self._phone.scan(code, replace(person, permission=self._permission), f"{self._number}")
        self.keep(phone)
        return phone

    def person_may(self, may=True):
        if may:
            self._permission.touch()
        else:
            self._permission.unlink(missing_ok=True)


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
