# SPDX-License-Identifier: Apache-2.0
"""Radio, relay, screen, site and browser, and one request with each client."""
import json
import re
from dataclasses import dataclass
from pathlib import Path

from harness.browser import Browser
from harness.certificates import Certificates
from harness.environment import TestEnvironment
from harness.programs import Program
from harness.radio import VirtualRadio
from harness.relay import DOMAIN, HOST, Relay
from harness.screen import Screen
from harness.waiting import Failed, Waiting, poll
from harness.website import Website

REQUEST = {"digital": {"requests": [{"protocol": "openid4vp-v1-unsigned", "data": {
    "response_type": "vp_token", "response_mode": "dc_api", "nonce": "abc", "dcql_query": {"credentials": [{
        "id": "licence", "format": "mso_mdoc", "meta": {"doctype_value": "org.iso.18013.5.1.mDL"},
        "claims": [{"path": ["org.iso.18013.5.1", "age_over_21"]}]}]}}}]}}


@dataclass
class Outcome:
    """The credential, or the name of the failure."""
    credential: dict | None = None
    failure: str | None = None


class DigitalEnvironment(TestEnvironment):
    def __init__(self, programs, folder, signals):
        super().__init__()
        self.folder = folder
        self._programs = programs
        self._waiting = Waiting(signals)
        self._codes = set()
        self._count = 0

    def start(self):
        environment = self.folder.environment()
        certificates = Certificates(self.folder.scratch / "certificates", HOST, environment)
        certificates.trust_in_browser(self.folder.home, environment)
        self._radio = self.keep(VirtualRadio(self._programs, self.folder, self._waiting))
        relay = self.keep(Relay(self._programs, self.folder, certificates, self._waiting))
        self._network = ["--cacert", certificates.authority, "--connect-to", f"{HOST}:443:127.0.0.1:{relay.port}"]
        self._environment = self.folder.environment(DBUS_SYSTEM_BUS_ADDRESS=self._radio.address)
        self._screen = self.keep(Screen(self.folder, self._waiting))
        site = self.keep(Website(Path(__file__).with_name("page.html")))
        self.origin = site.origin
        self._browser = self.keep(Browser(self.folder, self._screen, self._radio.address,
                                          {f"{HOST}:443": f"127.0.0.1:{relay.port}"}, self._waiting))
        self._browser.tab.open(self.origin + "/")
        self._radio.until_browser_knows()
        self.heading = self._browser.version

    def _phone(self, code, script):
        self._count += 1
        return Program(
            "hybrid-lab phone",
            [self._programs.lab, "phone", "--tunnel-domain", DOMAIN, "--adapter", "hci1", *self._network, "--timeout",
             "60", "--script", script, "-"],
            log=self.folder.path(f"phone-{self._count}.log"), text=code + "\n", environment=self._environment)

    def _until_phone_ends(self, phone):
        self._waiting.until("the phone to end", lambda: phone.status is not None, 120)
        self.complaints += phone.stop()

    def ours(self, script):
        """Returns the outcome with hybrid-client; the failure is the exit status and the code."""
        log = self.folder.path(f"client-{self._count}.log")
        output = self.folder.path(f"credential-{self._count}.json")
        client = Program(
            "hybrid-client",
            ["sh", "-c", 'out=$1; shift; exec "$@" >"$out"', "sh", output, self._programs.client, "present", "--json",
             "--request", "-", "--origin", self.origin, "--timeout", "60", *self._network],
            log=log, text=json.dumps(REQUEST), environment=self._environment)
        try:
            code = self._waiting.until("hybrid-client to show a code",
                                       lambda: re.search(r'"text":"(FIDO:[^"]+)"', client.said()), 60)[1]
            self._until_phone_ends(self._phone(code, script))
            self._waiting.until("hybrid-client to end", lambda: client.status is not None, 60)
        finally:
            self.complaints += client.stop()
        if client.status == 0:
            return Outcome(json.loads(output.read_bytes()))
        if output.read_bytes():
            raise Failed("hybrid-client failed with output")
        return Outcome(failure=f"{client.status} {json.loads(client.said().splitlines()[-1])['code']}")

    def chromium(self, script):
        """Returns the outcome with Chromium; the failure is the name of the exception."""
        tab, page = self._browser.tab, None
        tab.open(self.origin + "/")
        tab.perform("get", REQUEST)
        picture = self.folder.path(f"code-{self._count}.png")

        def new_code():
            code = self._screen.code(picture)
            return code if code not in self._codes else None

        code = self._waiting.until("a picture of the screen with a new code", new_code, 120)
        self._codes.add(code)
        self._until_phone_ends(self._phone(code, script))

        def answer():
            nonlocal page
            page = page or next((said for said in tab.heard() if said["event"] in ("fulfilled", "rejected")), None)
            return page

        # The phone ends before Chromium knows it.
        if script.startswith("vanish"):
            poll(answer, 5)
        # After some failures, the dialog stays until the user closes it.
        self._screen.press_until("Escape", "Chromium to answer the page", answer, 120)
        if page["event"] == "fulfilled":
            return Outcome({"protocol": page["protocol"], "data": page["data"]})
        return Outcome(failure=page["error"])
