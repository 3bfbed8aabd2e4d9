# SPDX-License-Identifier: Apache-2.0
"""Environment of the ceremonies of one run; started in order, stopped in reverse order."""
import contextlib
import time

from air import Air
from browser import Browser
from certificates import Certificates
from journal import Journal
from phone import Phone
from relay import DOMAIN, HOST, Relay
from relying_party import RelyingParty
from screen import Screen
from waiting import Waiting
from website import Website


class Stage(contextlib.AbstractContextManager):
    """Radio, relay, screen, site, phone and browser; `complaints` holds the errors found when they were stopped."""

    def __init__(self, programs, folder, signals):
        self.folder = folder
        self.waiting = Waiting(signals)
        self.journal = Journal(folder.path("steps.jsonl"))
        self.complaints = []
        self.codes = set()
        self.screen = None
        self._programs = programs
        self._stack = contextlib.ExitStack()

    def __enter__(self):
        try:
            self._set()
        except BaseException:
            self.picture_of_failure()
            self._stack.close()
            raise
        return self

    def _set(self):
        environment = self.folder.environment()
        certificates = Certificates(self.folder.scratch / "certificates", HOST, environment)
        certificates.trust_in_browser(self.folder.home, environment)
        self.air = self._keep(Air(self._programs, self.folder, self.waiting))
        self.journal.note("radio", bus=self.air.address)
        self.relay = self._keep(Relay(self._programs, self.folder, certificates, self.waiting))
        self.journal.note("relay", port=self.relay.port, host=HOST)
        self.screen = self._keep(Screen(self.folder, self.waiting))
        self.journal.note("screen", display=self.screen.environment["DISPLAY"])
        website = self._keep(Website())
        self.site = RelyingParty(website.origin, self.folder.path("site.jsonl"))
        self.phone = Phone(self._programs, self.folder, self.air, self.relay, certificates, HOST, DOMAIN)
        began = time.monotonic()
        self.browser = self._keep(Browser(self.folder, self.screen, self.air, HOST, self.relay.port, self.waiting))
        self.browser.tab.open(self.site.address)
        self.air.until_browser_knows()
        self.seconds_to_browser = time.monotonic() - began
        self.journal.note("browser", version=self.browser.version, seconds=round(self.seconds_to_browser, 3))

    def _keep(self, part):
        def stop():
            self.complaints += part.stop()

        self._stack.callback(stop)
        return part

    def picture_of_failure(self):
        if self.screen:
            with contextlib.suppress(Exception):
                self.screen.picture(self.folder.path("failure.png"))

    def __exit__(self, kind, error, _trace):
        if kind is not None:
            self.picture_of_failure()
        self._stack.close()
