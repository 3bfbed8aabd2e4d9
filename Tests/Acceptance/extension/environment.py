# SPDX-License-Identifier: Apache-2.0
"""Environment of the extension: a real Chromium with it, two sites, and hosts that the test controls."""
import contextlib
import functools
import hashlib
import json
import os
import signal
from pathlib import Path
from types import SimpleNamespace

from harness.browser import Browser
from harness.command import REPOSITORY
from harness.environment import TestEnvironment
from harness.folders import RunFolder
from harness.page_server import LocalServer, PageHandler
from harness.programs import session_members
from harness.relying_party import RelyingParty
from harness.waiting import Failed, Waiting, must
from native_host import EXTENSION, NativeHosts
from passkey import Passkey

FOLDER = REPOSITORY / "Extension"
HERE = Path(__file__).parent
# Chromium resolves these to the same server.
OTHERS = ("shop.localhost", "news.localhost")
AGENT, NO_AGENT = {"available": True, "via": "ssh"}, {"available": False, "reason": "no-agent"}
RIVAL = {
    "manifest_version": 3, "name": "Rival", "version": "1", "permissions": ["webAuthenticationProxy"],
}


class Server(LocalServer):
    """Serves the page, and the extension's modules with their test."""

    def __init__(self, extension):
        class Handler(PageHandler):
            path_of_page = HERE / "page.html"

            def do_GET(self):
                name = self.path.rpartition("/")[2]
                if not name.endswith(".js"):
                    # The page has several addresses.
                    self.path = "/"
                    return super().do_GET()
                script = (HERE if name == "logic.js" else extension) / name
                return self.send_file(script, "text/javascript")

        super().__init__(Handler)


class ExtensionEnvironment(TestEnvironment):
    """One browser for all cases; each leaves it attached, without requests."""

    def __init__(self, folder, signals, extension=FOLDER):
        super().__init__()
        self.folder, self.waiting, self._extension = folder, Waiting(signals), extension
        self._signals = signals

    def start(self):
        profile = self.folder.scratch / "profile"
        self.hosts = self.keep(NativeHosts(self.folder.sockets, profile))
        self.server = self.keep(Server(self._extension))
        self.site = RelyingParty(f"http://localhost:{self.server.port}", self.folder.path("site.jsonl"))
        self._rival = self.folder.scratch / "rival"
        self._rival.mkdir()
        (self._rival / "manifest.json").write_text(json.dumps(RIVAL), encoding="utf-8")
        (self._rival / "page.html").write_text("<!doctype html><title>Rival</title>", encoding="utf-8")
        self.passkey = Passkey("localhost")
        # The first case sees a browser that starts without an agent.
        self.hosts.availability = NO_AGENT
        self.start_browser()
        self.heading = self.browser.version

    def start_browser(self):
        # No bus: a computer without Bluetooth.
        self.browser = self.keep(Browser(
            self.folder, SimpleNamespace(environment=self.folder.environment()),
            f"unix:path={self.folder.sockets}/there-is-no-bus", dict.fromkeys(OTHERS, "127.0.0.1"), self.waiting,
            switches=("--headless=new", f"--load-extension={self._extension},{self._rival}")))
        self.tab = self.browser.tab
        self.tab.open(self.site.address)

    @functools.cached_property
    def second(self):
        """A second browser, for a case that needs half a minute without any event."""
        second = ExtensionEnvironment(RunFolder(self.folder.path("second")), self._signals, self._extension)
        self.keep(second.__enter__())
        second.reach(AGENT)
        return second

    def stop(self):
        self.__exit__(None, None, None)
        self.folder.remove_sockets()
        return self.complaints

    # ---- Pages -------------------------------------------------------------------------------------------------------

    def address(self, host):
        return f"http://{host}:{self.server.port}/"

    def new_page(self, address=None):
        """Opens a page in another tab, in front."""
        tab = self.browser.new_tab()
        tab.open(address or self.site.address)
        return tab

    def request(self, ceremony="get", tab=None, options=None, **more):
        """Starts a request of a page; returns its options and the host that gets it."""
        options = self.ask(ceremony, tab, options, **more)
        return options, self.call(options["challenge"])

    def ask(self, ceremony="get", tab=None, options=None, **more):
        """Starts a request of a page; returns its options."""
        tab = tab or self.tab
        options = options or (
            self.site.creation_options() if ceremony == "create" else self.site.request_options(allow="any"))
        tab.show()
        tab.heard()
        tab.call("Runtime.evaluate", userGesture=True,
                 expression=f"void perform({json.dumps(ceremony)}, {json.dumps(options)}, {json.dumps(more)})")
        tab.wait_for("asking", "the page to be in front and to request a credential", 60)
        return options

    def call(self, challenge=None):
        """Returns the host that gets the next request, or that with this challenge.

        The host of an earlier request, which has ended, can be late.
        """
        def found():
            call = self.hosts.next()
            return call if call and challenge in (None, call.challenge) else None

        return self.waiting.until("a host to get the page's request", found, 30)

    def result(self, tab=None, what="the request", seconds=60):
        """Returns the page's message when its request has ended."""
        tab = tab or self.tab
        return self.waiting.until(f"the page to get an end of {what}", lambda: next(
            (said for said in tab.heard() if said["event"] in ("fulfilled", "rejected")), None), seconds)

    def fulfilled(self, tab=None):
        """Returns the response that the page gets."""
        said = self.result(tab)
        must(said["event"] == "fulfilled", f"expected a response; the page got {said}")
        return said["response"]

    def rejected(self, name, tab=None, what="the request", seconds=60):
        """Returns the message of a rejection with this name."""
        said = self.result(tab, what, seconds)
        must(said.get("error") == name, f"{what}: expected {name}; the page got {said}")
        return said["message"]

    def answered(self, options, call, tab=None):
        """Answers a sign-in; the page gets it, and the host ends."""
        call.answer({"response": self.passkey.assertion(call.request)})
        self.site.verify_request(self.fulfilled(tab), options["challenge"])
        self.ended(call)

    def ended(self, call, seconds=60):
        """Returns when the extension has closed the port, and the process has ended."""
        self.waiting.until("the request's host to end", lambda: call.is_closed and
                           call.process not in self.hosts.running, seconds)

    # ---- The extension -----------------------------------------------------------------------------------------------

    def popup(self):
        """Opens the window of the icon in a tab; like every start of it, that asks whether a phone can be reached."""
        return self._opened("popup.html")

    def _opened(self, file):
        tab = self.browser.new_tab()
        tab.go(f"chrome-extension://{EXTENSION}/{file}")
        return tab

    def records(self):
        """Returns what the extension has recorded, and the icon."""
        return self.inspected("""(async () => ({ ...await (await import("/records.js")).readRecords(),
            badge: await chrome.action.getBadgeText({}), title: await chrome.action.getTitle({}) }))()""")

    def popup_text(self):
        """Returns the text of the icon's window."""
        return self.inspected("""(async () => { while (!document.getElementById("headline").textContent)
            await new Promise((done) => setTimeout(done, 20)); return document.body.innerText; })()""", "popup.html")

    @staticmethod
    def text_of(popup):
        return popup.evaluate("document.body.innerText")

    @staticmethod
    def waiting_icon(popup):
        return popup.evaluate("Promise.all([chrome.action.getBadgeText({}), chrome.action.getTitle({})])")

    @staticmethod
    def accessible(tab):
        """Returns (role, name) of everything that assistive technology can read."""
        return [(node["role"]["value"], node.get("name", {}).get("value", ""))
                for node in tab.call("Accessibility.getFullAXTree")["nodes"]
                if not node.get("ignored") and "role" in node]

    def worker(self):
        """Returns the extension's worker, which runs."""
        return self.browser.attach("service_worker", EXTENSION)

    def inspected(self, expression, file="popup.css"):
        """Returns the value of an expression in a page of the extension; a file without a script changes nothing."""
        tab = self._opened(file)
        try:
            return tab.evaluate(expression)
        finally:
            tab.close()
            self.tab.show()

    def is_attached(self):
        """Returns what a page can see: Chromium offers no autofill while an extension answers requests."""
        return not self.tab.evaluate("PublicKeyCredential.getClientCapabilities().then((c) => c.conditionalGet)")

    def announce(self):
        """Writes the file that tells the extension about a new or ended session."""
        folder = self.folder.home / ".config/chromium/WebAuthenticationProxyRemoteSessionStateChange"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / EXTENSION).write_text("")

    def reach(self, answer):
        """Changes whether a phone can be reached, announces that, and waits until pages notice."""
        self.hosts.availability = answer
        self.announce()
        self.wait_until_attached(answer["available"])

    def wait_until_attached(self, expected=True):
        self.waiting.until(f"the extension to {'attach' if expected else 'detach'}",
                           lambda: self.is_attached() == expected, 20)

    def worker_processes(self):
        """Returns the processes of extensions."""
        found = []
        for process in session_members(self.browser.program.pid):
            with contextlib.suppress(OSError):
                if b"--extension-process" in Path(f"/proc/{process}/cmdline").read_bytes():
                    found.append(process)
        return found

    def kill_worker(self):
        """Kills the process of the extension."""
        found = self.worker_processes()
        must(found, "expected a process of the extension; there is none")
        for process in found:
            os.kill(process, signal.SIGKILL)
        self.waiting.until("the extension's process to end", lambda: not self.worker_processes(), 60)

    def end_browser(self):
        self.waiting.forget(self.browser.program)
        self.browser.ask_to_end()
        self.waiting.until("Chromium to end", lambda: self.browser.program.status is not None, 30)

    @property
    def rival(self):
        """Origin of the second extension, whose ID comes from its path."""
        digest = hashlib.sha256(str(self._rival).encode()).hexdigest()[:32]
        return "chrome-extension://" + "".join(chr(ord("a") + int(digit, 16)) for digit in digest)

    def after_case(self, name, failed):
        complaints = []
        try:
            # Among them those of requests that no case expected.
            self.waiting.until("all hosts to end", lambda: not self.hosts.running, 60)
            if self.browser.program.status is None:
                self.waiting.until("the records of requests to go", lambda: not self.records()["requests"], 60)
        except Failed as error:
            complaints.append(str(error))
        if (failed or complaints) and self.browser.program.status is None:
            try:
                self.recover()
            except Failed as error:
                complaints.append(f"the next case is affected: {error}")
        return complaints

    def recover(self):
        """Begins again after a failure, so that the next case is not affected."""
        for process in self.hosts.running:
            os.kill(process, signal.SIGKILL)
        self.hosts.install(True)
        self.tab.open(self.site.address)
        self.reach(AGENT)
