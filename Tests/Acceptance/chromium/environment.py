# SPDX-License-Identifier: Apache-2.0
"""Environment of the ceremonies of one run; started in order, stopped in reverse order."""
import contextlib
import time
from pathlib import Path

from harness.browser import Browser
from harness.certificates import Certificates
from harness.environment import TestEnvironment
from harness.phone import Phone
from harness.radio import VirtualRadio
from harness.relay import DOMAIN, HOST, Relay
from harness.relying_party import RelyingParty
from harness.screen import Screen
from harness.waiting import Waiting
from harness.website import Website
from journal import Journal


class ChromiumEnvironment(TestEnvironment):
    """Radio, relay, screen, site, phone and browser."""

    def __init__(self, programs, folder, signals):
        super().__init__()
        self.folder = folder
        self.waiting = Waiting(signals)
        self.journal = Journal(folder.path("steps.jsonl"))
        self.codes = set()
        self.screen = None
        self._programs = programs

    def start(self):
        environment = self.folder.environment()
        certificates = Certificates(self.folder.scratch / "certificates", HOST, environment)
        certificates.trust_in_browser(self.folder.home, environment)
        self.radio = self.keep(VirtualRadio(self._programs, self.folder, self.waiting))
        self.journal.note("radio", bus=self.radio.address)
        self.relay = self.keep(Relay(self._programs, self.folder, certificates, self.waiting))
        self.journal.note("relay", port=self.relay.port, host=HOST)
        self.screen = self.keep(Screen(self.folder, self.waiting))
        self.journal.note("screen", display=self.screen.environment["DISPLAY"])
        website = self.keep(Website(Path(__file__).with_name("page.html")))
        self.site = RelyingParty(website.origin, self.folder.path("site.jsonl"))
        self.phone = Phone(self._programs, self.folder, self.radio, self.relay, certificates, HOST, DOMAIN)
        began = time.monotonic()
        self.browser = self.keep(Browser(self.folder, self.screen, self.radio.address,
                                         {f"{HOST}:443": f"127.0.0.1:{self.relay.port}"}, self.waiting))
        self.browser.tab.open(self.site.address)
        self.radio.until_browser_knows()
        self.seconds_to_browser = time.monotonic() - began
        self.journal.note("browser", version=self.browser.version, seconds=round(self.seconds_to_browser, 3))

    def picture_of_failure(self):
        if self.screen:
            with contextlib.suppress(Exception):
                self.screen.picture(self.folder.path("failure.png"))

    def before_stop(self, failed):
        if failed:
            self.picture_of_failure()
