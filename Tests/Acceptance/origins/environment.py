# SPDX-License-Identifier: Apache-2.0
"""Radio, screen, server and browser, and the two verdicts about a case."""
import functools
import json

from harness.browser import Browser
from harness.certificates import Certificates
from harness.command import REPOSITORY
from harness.environment import TestEnvironment
from harness.programs import Program
from harness.radio import VirtualRadio
from harness.screen import Screen
from harness.waiting import Failed, Waiting
from server import SITE, Server, host

CLOSED = "kClosed"
CHALLENGE = "AAAAAAAAAAAAAAAAAAAAAA"


@functools.cache
def vectors():
    return json.loads((REPOSITORY / "Tests" / "Vectors" / "related-origins.json").read_text(encoding="utf-8"))


class OriginsEnvironment(TestEnvironment):
    def __init__(self, programs, folder, signals):
        super().__init__()
        self._programs = programs
        self._folder = folder
        self._waiting = Waiting(signals)

    def start(self):
        environment = self._folder.environment()
        self._certificates = Certificates(self._folder.scratch / "certificates", f"{SITE},DNS:*.{host(None)}",
                                          environment)
        self._certificates.trust_in_browser(self._folder.home, environment)
        self._cases = vectors()["cases"]
        self._server = self.keep(Server(self._certificates, self._cases))
        self._radio = self.keep(VirtualRadio(self._programs, self._folder, self._waiting))
        screen = self.keep(Screen(self._folder, self._waiting))
        names = [SITE, *(host(number) for number in range(len(self._cases)))]
        self._browser = self.keep(Browser(
            self._folder, screen, self._radio.address,
            {f"{name}:443": f"127.0.0.1:{self._server.port}" for name in names}, self._waiting))
        self._browser.tab.open(vectors()["origin"] + "/")
        self._radio.until_browser_knows()
        self.heading = self._browser.version

    def chromium(self, number):
        """Returns `allowed`, or `denied` with the message."""
        tab = self._browser.tab
        tab.open(vectors()["origin"] + "/")
        # The new page has closed the dialog of the previous case.
        self._waiting.until("Chromium's dialog to close", lambda: self._browser.steps()[-1:] in ([], [CLOSED]), 60)
        before = len(self._browser.steps())
        tab.perform("get", {"challenge": CHALLENGE, "rpId": host(number)})

        def verdict():
            for said in tab.heard():
                if said["event"] == "rejected":
                    return said
            return any(step != CLOSED for step in self._browser.steps()[before:])

        found = self._waiting.until("Chromium to show a dialog or to reject the request", verdict, 60)
        if found is True:
            return "allowed"
        if found["error"] != "SecurityError":
            raise Failed(f"Chromium rejected the request with {found['error']}: {found['message']}")
        return f"denied: {found['message']}"

    def ours(self, number):
        """Returns `allowed`, or `denied` with the sentence."""
        name = host(number)
        program = Program(
            "hybrid-client",
            [self._programs.client, "show-qr", "--json", "--no-phones", "--request", "-", "--origin",
             vectors()["origin"], "--cacert", self._certificates.authority, "--connect-to",
             f"{name}:443:127.0.0.1:{self._server.port}"],
            log=self._folder.path(f"client-{number}.log"),
            text=json.dumps({"publicKey": {"challenge": CHALLENGE, "rpId": name}}),
            environment=self._folder.environment(DBUS_SYSTEM_BUS_ADDRESS=self._radio.address))
        try:
            self._waiting.until("hybrid-client to show a code or to end",
                                lambda: '"event":"qr"' in program.said() or program.status is not None, 60)
            if program.status is None:
                return "allowed"
            last = json.loads(program.said().splitlines()[-1])
        finally:
            program.stop()
        url = f"https://{name}/.well-known/webauthn"
        if program.status != 65 or last.get("webauthn_error") != "SecurityError" or url not in last["message"]:
            raise Failed(f"hybrid-client {program.ending}: {last}")
        return f"denied: {last['message']}"
