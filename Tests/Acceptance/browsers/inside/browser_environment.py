# SPDX-License-Identifier: Apache-2.0
"""A browser, the site, and hybrid-key with the kernel's device, or with a simulated one."""
import os
import socket
import sys
import time
from pathlib import Path

from harness.browser import Browser
from harness.certificates import Certificates
from harness.firefox import SLOW_PROCESSOR, Firefox
from harness.hybrid_key import KeyEnvironment, nothing_left
from harness.programs import Program
from harness.screen import Screen
from harness.waiting import Failed, must, poll
from site_server import HOST, OTHER_HOST, Site

# What a service manager does for a socket-activated service.
ACTIVATE = """import os, sys
os.dup2(int(sys.argv[1]), 3)
os.environ.update(LISTEN_FDS="1", LISTEN_FDNAMES="agent", LISTEN_PID=str(os.getpid()))
os.execv(sys.argv[2], sys.argv[2:])"""
# There is no Bluetooth for the browser: Chromium would show a code of its own.
NO_BUS = "unix:path=/run/there-is-no-bus"
# The processor may be emulated.
LONG = 600


class BrowserEnvironment(KeyEnvironment):
    """A browser of a kind, and everything around it; `runs` is the number of sign-ins."""

    # Further preferences of Firefox.
    preferences = SLOW_PROCESSOR
    # The usual port, so that the browser's address bar shows the name alone.
    port = 443

    def __init__(self, kind, runs, responses, programs, folder, signals):
        super().__init__(programs, folder, signals)
        self.kind, self.runs, self._responses, self.key = kind, runs, responses, None
        # The command in which the browser runs, and further variables for it.
        self.command, self.variables = [], {}

    def start(self):
        super().start()
        self.screen = self.keep(Screen(self.folder, self.waiting, size="1280x960"))
        certificates = Certificates(self.folder.scratch / "site-certificates", f"{HOST},DNS:{OTHER_HOST}",
                                    self.folder.environment())
        self.site = self.keep(Site(certificates, self._responses, self.port))
        begun = time.monotonic()
        if self.kind == "firefox":
            self.browser = self.keep(Firefox(self.folder, self.screen, NO_BUS, (HOST, OTHER_HOST), certificates, self.waiting,
                                             self.command, self.variables, self.preferences))
        else:
            certificates.trust_in_browser(self.folder.home, self.folder.environment())
            self.browser = self.keep(Browser(self.folder, self.screen, NO_BUS, {HOST: "127.0.0.1", OTHER_HOST: "127.0.0.1"},
                                             self.waiting, self.command, self.variables))
        self.tab = self.browser.tab
        self.tab.open(self.site.address)
        self.heading = f"{self.browser.version}, ready after {time.monotonic() - begun:.0f} s"

    def new_key(self):
        """Replaces the hybrid-key: each may open three windows in a minute."""
        if self.key:
            self.complaints += self.key.stop()
        self.key = self.start_key()

    def start_key(self):
        return Key(self.number(), self)

    @property
    def credential(self):
        must(self.site.credential, "expected the credential of the case register; it did not run or did not pass")
        return self.site.credential

    def next_prompt(self):
        """Waits for the next window in which the code is shown."""
        return self.prompts.next(program=self.key.program, seconds=LONG)

    def cancel(self):
        """Cancels the request in the browser's dialog, like a user."""
        if self.kind == "firefox":
            self.waiting.until("Firefox's question", self.browser.notifications, LONG)
            self.browser.press_button()
        else:
            self.screen.press("Escape")

    def open_settings(self):
        """Opens the browser's page about security keys in a tab of its own; returns the tab."""
        tab = self.browser.new_tab()
        tab.go("about:webauthn" if self.kind == "firefox" else "chrome://settings/securityKeys")
        return tab

    def gone(self, window):
        """Waits for the end of a window and of its ceremony; returns the seconds."""
        begun = time.monotonic()
        nothing_left(self.key.program, window)
        return time.monotonic() - begun

    def after_case(self, name, failed):
        if failed:
            self.screen.picture(self.folder.path(f"{name}.png"))
        return []

    def before_stop(self, failed):
        if self.key:
            self.complaints += self.key.stop()


class Key:
    """A running `hybrid-key serve`; `seconds` is the time until this user may use its device."""

    def __init__(self, number, env):
        self._env = env
        begun = time.monotonic()
        with socket.socket(socket.AF_UNIX) as agent:
            agent.bind(str(env.folder.sockets / f"agent-{number}.sock"))
            agent.listen()
            self.program = Program(
                "hybrid-key", [sys.executable, "-c", ACTIVATE, agent.fileno(), env.programs.key, "serve", *env.route],
                log=env.folder.path(f"key-{number}.log"), environment=env.environment, pass_fds=(agent.fileno(),))
        env.waiting.until("a security key that this user may use", self._device, LONG)
        self.seconds = time.monotonic() - begun

    def _device(self):
        if self.program.status is not None:
            raise Failed(f"hybrid-key {self.program.ending}: {self.program.said().strip()}")
        return next((path for path in Path("/dev").glob("hidraw*") if os.access(path, os.R_OK | os.W_OK)), None)

    def stop(self):
        complaints = self.program.stop()
        if self.program.status != 0:
            complaints.append(f"hybrid-key {self.program.ending}; expected status 0 after SIGTERM")
        must(poll(lambda: not list(Path("/dev").glob("hidraw*")), 60), "expected the device to end with hybrid-key")
        return complaints
