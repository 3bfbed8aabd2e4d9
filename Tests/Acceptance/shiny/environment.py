# SPDX-License-Identifier: Apache-2.0
"""`hybrid-lab shiny`, a screen, Chromium, and hybrid-auth as the phone."""
import json
from types import SimpleNamespace

from harness.browser import Browser
from harness.environment import TestEnvironment
from harness.phone import PIN, PINENTRY, Person, Phone
from harness.programs import Program
from harness.relay import DOMAIN
from harness.screen import Screen
from harness.waiting import Failed, Waiting
from page import Page


class Lab:
    """`hybrid-lab shiny`, which prints its settings as JSON."""

    def __init__(self, programs, folder, waiting):
        self.program = Program(
            "hybrid-lab shiny", [programs.lab, "shiny", "--json", "--program", programs.site],
            log=folder.path("lab.log"), environment=folder.environment())
        try:
            self.settings = waiting.until("hybrid-lab shiny to print its settings", self._settings, 60)
        except BaseException:
            self.stop()
            raise
        waiting.watch(self.program)

    def _settings(self):
        if self.program.status is not None:
            raise Failed(f"hybrid-lab shiny {self.program.ending}: {self.program.said().strip()}")
        line = next((line for line in self.program.said().splitlines() if line.startswith("{")), None)
        return line and json.loads(line)

    def stop(self):
        complaints = self.program.stop()
        if self.program.status != 0:
            complaints.append(f"hybrid-lab shiny {self.program.ending}; expected status 0 after SIGTERM")
        return complaints


class ShinyEnvironment(TestEnvironment):
    def __init__(self, programs, folder, pictures, signals):
        super().__init__()
        self.programs, self.folder, self.signals, self.waiting = programs, folder, signals, Waiting(signals)
        self.pictures, self.pinentry = pictures, PINENTRY
        self._codes = set()
        self._count = 0

    def start(self):
        self._lab = self.keep(Lab(self.programs, self.folder, self.waiting))
        settings = self._lab.settings
        site, relay = settings["shiny"], settings["relay"]
        self.origin, self.related_origin = site["origin"], site["related_origin"]
        self.authority = relay["cacert"]
        hosts = {f"{origin.removeprefix('https://')}:443": site["address"]
                 for origin in (self.origin, self.related_origin)}
        self.connect_to = [f"{name}:{address}" for name, address in hosts.items()]
        self.phone = Phone(
            self.programs, self.folder, SimpleNamespace(address=settings["bus"]),
            SimpleNamespace(port=relay["address"].rpartition(":")[2]), SimpleNamespace(authority=relay["cacert"]),
            relay["host"], DOMAIN)
        self.screen = self.keep(Screen(self.folder, self.waiting))
        # No question whether Chromium should save passwords: it would cover the page in pictures.
        profile = self.folder.scratch / "profile" / "Default"
        profile.mkdir(parents=True)
        (profile / "Preferences").write_text(json.dumps({"credentials_enable_service": False}), encoding="ascii")
        pins = next(switch for switch in settings["chromium"] if "spki" in switch)
        # --test-type: no bar about the other switches in pictures.
        self._browser = self.keep(Browser(
            self.folder, self.screen, settings["bus"],
            {**hosts, f"{relay['host']}:443": relay["address"]}, self.waiting, switches=(pins, "--test-type")))
        self.heading = self._browser.version
        self.page = Page(self._browser.tab, self.waiting)
        self.page.open(self.origin + "/")
        # A new Chromium shows no code if a passkey is requested before it has found the radio.
        self.waiting.until("Chromium to find the radio", lambda: self.page.value(
            "PublicKeyCredential.getClientCapabilities().then(able => able.hybridTransport)"), 60)
        # The log is complete only for a page that was loaded since.
        self.page.open(self.origin + "/")

    def picture(self, name):
        self.screen.picture(self.pictures / f"{name}.png")

    def painted_picture(self, name):
        """Takes a picture once the page has been painted as it is now."""
        self.page.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        self.picture(name)

    def scan(self, name, answer="yes"):
        """Answers the code on the screen with the phone; returns what its user was asked."""
        self._count += 1
        path = self.folder.path(f"code-{self._count}.png")

        def new_code():
            code = self.screen.code(path)
            return code if code not in self._codes else None

        code = self.waiting.until("a picture of the screen with a new code", new_code, 60)
        self._codes.add(code)
        self.picture(f"{name}-code")
        asked = len(self.phone.dialogues())
        phone = self.phone.scan(code, Person(answer), f"{self._count}-{name}", ["--no-ask-to-link"])
        self.waiting.until("the phone to end", lambda: phone.status is not None, 90)
        self.complaints += phone.stop()
        if answer == "yes" and phone.status != 0:
            raise Failed(f"hybrid-auth {phone.ending}: {phone.said().strip()}")
        return self.phone.dialogues()[asked:]

    def choose_autofill(self, picture):
        """Chooses the only line in the list of autofill, which is a window of its own and ignores keys at first."""
        def look_or_press():
            if self._browser.steps()[-1:] == ["kCableV2QRCode"]:
                return True
            self.screen.press("Down")
            self.picture(picture)
            self.screen.press("Return")
            return False

        self.waiting.until("Chromium to show a code", look_or_press, 30, pause=0.7)

    def person_environment(self):
        """Returns the environment of programs that ask the simulated user of the phone."""
        return self.folder.environment(
            XDG_STATE_HOME=str(self.folder.phone / "state"), PERSON_LOG=str(self.folder.path("pinentry.log")),
            PERSON_PIN=PIN, PERSON_ANSWER="yes", PERSON_MAY="")

    def after_case(self, name, failed):
        if failed:
            self.screen.picture(self.folder.path(f"failure-{name}.png"))
            self.folder.path(f"failure-{name}.json").write_text(json.dumps(self.page.state(), indent=2))
        self.page.drop_device()
        complaints = self.page.complaints()
        return [f"Chromium complains: {text}" for text in complaints]
