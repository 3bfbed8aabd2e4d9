# SPDX-License-Identifier: Apache-2.0
"""Debian's Firefox, unmodified, with a window, driven by Marionette."""
import json

from harness.marionette import CHROME, Marionette
from harness.programs import Program

# No request leaves the machine, and nothing covers the page. Passkeys and security keys have their defaults.
PREFERENCES = {
    "app.normandy.enabled": False,
    "app.update.auto": False,
    "browser.aboutwelcome.enabled": False,
    "browser.discovery.enabled": False,
    "browser.newtabpage.enabled": False,
    "browser.safebrowsing.blockedURIs.enabled": False,
    "browser.safebrowsing.malware.enabled": False,
    "browser.safebrowsing.phishing.enabled": False,
    "browser.search.update": False,
    "browser.shell.checkDefaultBrowser": False,
    "browser.startup.homepage_override.mstone": "ignore",
    "browser.startup.page": 0,
    "browser.tabs.warnOnClose": False,
    "datareporting.healthreport.uploadEnabled": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "extensions.update.enabled": False,
    "marionette.port": 0,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "security.OCSP.enabled": 0,
    "termsofuse.bypassNotification": True,
    "toolkit.telemetry.enabled": False,
    "trailhead.firstrun.didSeeAboutWelcome": True,
}
# Each further process costs a minute on an emulated processor.
SLOW_PROCESSOR = {
    "dom.ipc.processCount": 1,
    "dom.ipc.processPrelaunch.enabled": False,
    "fission.autostart": False,
    "media.rdd-process.enabled": False,
    "media.utility-process.enabled": False,
    "network.process.enabled": False,
    "ui.prefersReducedMotion": 1,
}
# A message of the page; the driver fetches them.
TELL = "window.told = []; window.tellDriver = (text) => told.push(text);"


class Tab:
    """A page in its own tab; its methods are those of browser.Tab. Its messages are events."""

    def __init__(self, marionette, handle, waiting):
        self._marionette, self._handle, self._waiting = marionette, handle, waiting

    def open(self, address):
        """Opens the page and returns once it has loaded."""
        self.go(address)
        self._marionette.script("window.eval(arguments[0])", TELL)

    def go(self, address):
        """Opens a page that is not the site's."""
        self._choose()
        self._marionette.call("WebDriver:Navigate", url=address)

    def show(self):
        """Brings the tab to the front."""
        self._marionette.call("WebDriver:SwitchToWindow", handle=self._handle, focus=True)

    def close(self):
        self._choose()
        self._marionette.call("WebDriver:CloseWindow")

    def perform(self, ceremony, options):
        """Starts the page's ceremony; returns when the page has called navigator.credentials."""
        self.heard()
        self.evaluate(f"void perform({json.dumps(ceremony)}, {json.dumps(options)})")
        self.wait_for("asking", "the page to be in front and to request a credential", 120)

    def evaluate(self, text):
        """Evaluates a script as one of the page."""
        self._choose()
        self._marionette.script("window.eval(arguments[0])", text)

    def heard(self):
        """Returns new messages of the page as a list of dictionaries with an `event`."""
        self._choose()
        told = self._marionette.script("return window.eval('JSON.stringify(told.splice(0))')")
        return [json.loads(message) for message in json.loads(told)]

    def wait_for(self, event, what, seconds):
        return self._waiting.until(
            what, lambda: next((said for said in self.heard() if said["event"] == event), None), seconds)

    def _choose(self):
        """Directs commands to the tab; the tab in front remains."""
        self._marionette.call("WebDriver:SwitchToWindow", handle=self._handle, focus=False)


class Firefox:
    """One Firefox with a tab.

    `bus` is the address of the system's bus. `hosts` are names that resolve to this machine. `command` runs Firefox, with
    further `variables`; `more` are further preferences.
    """

    def __init__(self, folder, screen, bus, hosts, certificates, waiting, command=(), variables=None,
                 more=None):
        self._waiting, self.marionette = waiting, None
        profile = folder.scratch / "profile"
        profile.mkdir()
        environment = {**screen.environment, "DBUS_SYSTEM_BUS_ADDRESS": bus, "MOZ_DBUS_REMOTE": "0",
                       "RUST_LOG": "authenticator=debug,authrs_bridge=debug", "MOZ_CRASHREPORTER_DISABLE": "1"}
        certificates.trust_in(profile, environment)
        environment |= variables or {}
        preferences = {**PREFERENCES, **(more or {}), "network.dns.localDomains": ",".join(hosts)}
        (profile / "user.js").write_text("".join(
            f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in preferences.items()))
        self.program = Program(
            "firefox", [*command, "firefox-esr", "--marionette", "--remote-allow-system-access", "--profile", profile,
                        "--no-remote", "--width", "1100", "--height", "800", "about:blank"],
            log=folder.path("firefox.log"), environment=environment)
        try:
            waiting.watch(self.program)
            port = profile / "MarionetteActivePort"
            waiting.until("Firefox to open Marionette's port", lambda: port.exists() and port.read_text().strip(), 600)
            self.marionette = Marionette(int(port.read_text()), waiting, {"alwaysMatch": {"acceptInsecureCerts": False}})
            self.version = "Firefox/" + self.marionette.capabilities["browserVersion"]
            self.tab = Tab(self.marionette, self.marionette.call("WebDriver:GetWindowHandle")["value"], waiting)
        except BaseException:
            self.stop()
            raise

    def new_tab(self):
        """Opens another tab of the same window, in front."""
        handle = self.marionette.call("WebDriver:NewWindow", type="tab", focus=True)["handle"]
        return Tab(self.marionette, handle, self._waiting)

    def notifications(self):
        """Returns the IDs of the notifications that are open, such as the question for a security key."""
        return self.marionette.script(
            "return [...document.querySelectorAll('#notification-popup > popupnotification')]"
            ".filter((one) => !one.hidden && one.closest('panel').state == 'open').map((one) => one.id)", context=CHROME)

    def press_button(self):
        """Presses the main button of the notification; that of the question for a security key is Cancel."""
        self.marionette.script("document.querySelector('#notification-popup > popupnotification:not([hidden])')"
                               ".button.click()", context=CHROME)

    def stop(self):
        complaints = self.program.stop(ask=self._ask if self.marionette else None)
        if self.marionette:
            self.marionette.close()
        return complaints

    def _ask(self):
        self._waiting.forget(self.program)
        self.marionette.call("Marionette:Quit", flags=["eForceQuit"])
