# SPDX-License-Identifier: Apache-2.0
"""A page in a real Chromium and the plug-in share a passkey on hybrid-auth: each encrypts what the other decrypts.

The page gives the browser the inputs and gets the results, as typage does; the judge does the rest.
"""
import os
from pathlib import Path

import age
import fido2prf
from environment import SecretsEnvironment, succeeded
from files import TEXT, decrypts
from harness.browser import Browser
from harness.phone import Person
from harness.relay import HOST
from harness.screen import Screen
from harness.waiting import must
from harness.website import Website

SITE = "localhost"
MECHANISMS, CODE, CLOSED = "kMechanismSelection", "kCableV2QRCode", "kClosed"


class PageEnvironment(SecretsEnvironment):
    """The suite's environment with a screen, a site and Chromium."""

    def start(self):
        super().start()
        self.certificates.trust_in_browser(self.folder.home, self.folder.environment())
        self.screen = self.keep(Screen(self.folder, self.waiting))
        site = self.keep(Website(Path(__file__).with_name("page.html")))
        self._browser = self.keep(Browser(self.folder, self.screen, self.radio.address,
                                          {f"{HOST}:443": f"127.0.0.1:{self.relay.port}"}, self.waiting))
        self._browser.tab.open(site.origin)
        self.radio.until_browser_knows()
        self.heading += f", {self._browser.version}"
        self._codes, self._result, self.passkey = set(), None, None

    def after_case(self, name, failed):
        if failed:
            self.screen.picture(self.folder.path(f"failure-{name}.png"))
        return super().after_case(name, failed)

    def ask(self, ceremony, **options):
        """Makes the page ask for a passkey, and the phone answer; returns what the page got."""
        tab, self._result, before = self._browser.tab, None, len(self._browser.steps())
        tab.perform(ceremony, options)

        def step():
            return (self._browser.steps()[before:] or [None])[-1]

        self.waiting.until("Chromium's dialog", lambda: step() in (MECHANISMS, CODE), 120)
        if step() == MECHANISMS:
            self.screen.press_until("Return", "Return to choose the phone", lambda: step() == CODE, 120)
        phone = self.keep(self.phone.scan(self._code(), Person(), f"{self.number()}"))
        self.waiting.until("the page to get its result", self._heard, 120)
        self.ended(phone)
        self.waiting.until("Chromium's dialog to close", lambda: step() == CLOSED, 60)
        must(self._result["event"] == "fulfilled", f"expected a result of the page; found {self._result}")
        return self._result

    def _heard(self):
        self._result = self._result or next(
            (said for said in self._browser.tab.heard() if said["event"] in ("fulfilled", "rejected")), None)
        return self._result

    def _code(self):
        picture = self.folder.path(f"code-{self.number()}.png")

        def look():
            code = self.screen.code(picture)
            return code if code not in self._codes else None

        code = self.waiting.until("a picture of the screen with a new code", look, 120)
        self._codes.add(code)
        return code

    def results(self, nonce):
        """Returns the results that the page gets for a nonce."""
        found = self.ask("get", id=self.passkey.credential_id.hex(),
                         inputs=[one.hex() for one in fido2prf.inputs(nonce)])
        return tuple(map(bytes.fromhex, found["results"]))


def page_creates(env):
    """The page makes a passkey with `prf`."""
    created = env.ask("create")
    must(created["enabled"] is True, f"expected a passkey with prf; found {created}")
    env.passkey = fido2prf.Identity(bytes.fromhex(created["id"]), SITE)
    env.passkey_file = env.folder.scratch / "page.txt"
    env.passkey_file.write_text(f"{env.passkey.encoded}\n")


def page_encrypts(env):
    """A file with the page's results decrypts with the plug-in and the same phone."""
    file_key, nonce = os.urandom(age.FILE_KEY), os.urandom(fido2prf.NONCE)
    stanza = fido2prf.wrap(file_key, nonce, env.results(nonce))
    file = env.folder.scratch / "page.age"
    file.write_bytes(age.seal(file_key, [stanza], TEXT.encode()).encoded)
    asked = " ".join(talk.description for talk in env.phone.dialogues())
    must("It also gets a secret." in asked, f"expected the phone to tell its user of the secret; found {asked}")
    decrypts(env, file, env.passkey_file, Person())


def page_decrypts(env):
    """A file that age encrypted with the plug-in opens with the page's results."""
    file = env.folder.scratch / "plug-in.age"
    program = env.run("age", "-e", "-i", env.passkey_file, "-o", file, text=TEXT)
    env.approved(program, Person())
    succeeded(program)
    stanza, = age.File.read(file.read_bytes()).stanzas
    file_key = fido2prf.unwrap(stanza, env.results(fido2prf.nonce_of(stanza)))
    opened = age.File.read(file.read_bytes()).open(file_key)
    must(opened == TEXT.encode(), f"expected the text; found {opened}")


CASES = {"page-creates": page_creates, "page-encrypts": page_encrypts, "page-decrypts": page_decrypts}
