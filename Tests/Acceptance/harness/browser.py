# SPDX-License-Identifier: Apache-2.0
"""Debian's Chromium, unmodified, with a window, as the client."""
import fcntl
import json
import os
import re

from harness.devtools import DevTools
from harness.programs import Program
from harness.waiting import Failed

# Chromium reads DevTools commands from descriptor 3 and writes to 4.
PLUMBING = 'eval "exec 3<&$1 4>&$2 $1<&- $2>&-"; shift 2; exec "$@"'
STEP = re.compile(r"FIDO: EVENT: .*UI step: (k\w+)")


def _pipe():
    """Returns both ends of a pipe, with descriptors other than 3 and 4."""
    low = os.pipe()
    high = tuple(fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in low)
    for end in low:
        os.close(end)
    return high


class Tab:
    """A page in its own tab. Its messages are events."""

    def __init__(self, tools, target, waiting):
        self._tools = tools
        self._target = target
        self._waiting = waiting
        self._unheard = []
        self._session = tools.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        tools.call("Runtime.enable", self._session)
        tools.call("Runtime.addBinding", self._session, name="tellDriver")

    def open(self, address):
        """Opens the page and returns once it has loaded."""
        self._tools.call("Page.navigate", self._session, url=address)
        self.wait_for("ready", f"the page {address} to load", 120)
        # A new window has the focus in its address bar, and a page without focus may not request credentials.
        self.show()

    def go(self, address):
        """Opens a page that is not the site's."""
        self._tools.call("Page.navigate", self._session, url=address)
        self._waiting.until(f"the page {address} to load", lambda: self._tools.call(
            "Runtime.evaluate", self._session, expression="document.readyState")["result"]["value"] == "complete", 120)

    def show(self):
        """Brings the tab to the front."""
        self._tools.call("Page.bringToFront", self._session)

    def reload(self):
        """Starts reloading the page; the page sends `ready` when it has loaded."""
        self._tools.call("Page.reload", self._session)

    def close(self):
        self._tools.call("Target.closeTarget", targetId=self._target)

    def detach(self):
        """Ends the connection to the target, which stays."""
        self._tools.call("Target.detachFromTarget", sessionId=self._session)

    def perform(self, ceremony, options):
        """Starts the page's ceremony; returns when the page has called navigator.credentials."""
        self.heard()
        self._tools.call("Runtime.evaluate", self._session, userGesture=True,
                         expression=f"void perform({json.dumps(ceremony)}, {json.dumps(options)})")
        self.wait_for("asking", "the page to be in front and to request a credential", 120)

    def evaluate(self, text):
        """Evaluates a script as one of the page; returns its value, or that of its promise."""
        answer = self.call("Runtime.evaluate", expression=text, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise Failed(f"the page refused {text!r}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def call(self, method, **parameters):
        """Sends a command of DevTools for this tab and returns its result."""
        return self._tools.call(method, self._session, **parameters)

    def events(self, method):
        """Removes and returns the parameters of received events of this kind."""
        return self._tools.events(method, self._session)

    def heard(self):
        """Returns new messages of the page as a list of dictionaries with an `event`."""
        heard, self._unheard = self._unheard, []
        return heard + [json.loads(event["payload"])
                        for event in self._tools.events("Runtime.bindingCalled", self._session)
                        if event["name"] == "tellDriver"]

    def wait_for(self, event, what, seconds):
        """Returns the first message with an event; later messages can still be heard."""
        def found():
            heard = self.heard()
            for index, said in enumerate(heard):
                if said["event"] == event:
                    self._unheard = heard[index + 1:]
                    return said
            return None

        return self._waiting.until(what, found, seconds)


class Browser:
    """One Chromium with a tab. The states of its dialogs come from Chromium's log.

    `bus` is the address of the system's bus. `hosts` has the address of each name that Chromium may resolve. `command`
    runs Chromium, with further `variables` and `switches`.
    """

    def __init__(self, folder, screen, bus, hosts, waiting, command=(), variables=None, switches=()):
        self._waiting = waiting
        self._tools = None
        commands, to_browser = _pipe()
        from_browser, answers = _pipe()
        try:
            self.program = Program(
                "chromium",
                ["bash", "-c", PLUMBING, "chromium", commands, answers, *command, "chromium",
                 *self._flags(folder, hosts), *switches, "about:blank"],
                log=folder.path("chromium.log"), pass_fds=(commands, answers),
                environment={**screen.environment, "DBUS_SYSTEM_BUS_ADDRESS": bus, **(variables or {})})
        finally:
            os.close(commands)
            os.close(answers)
        try:
            waiting.watch(self.program)
            self._tools = DevTools(from_browser, to_browser, waiting)
            self.version = self._tools.call("Browser.getVersion")["product"]
            self.tab = Tab(self._tools, waiting.until("Chromium to open its window", self._page, 120), waiting)
        except BaseException:
            self.stop()
            raise

    @staticmethod
    def _flags(folder, hosts):
        mapped = "".join(f"MAP {name} {address}," for name, address in hosts.items())
        return [
            # Chromium's sandbox does not work for root.
            *(["--no-sandbox"] if os.geteuid() == 0 else []),
            "--remote-debugging-pipe",
            f"--user-data-dir={folder.scratch / 'profile'}",
            "--no-first-run", "--no-default-browser-check", "--password-store=basic", "--lang=en-US",
            "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync",
            "--window-position=20,20", "--window-size=1200,900",
            # localhost stays itself.
            "--no-proxy-server",
            f"--host-resolver-rules={mapped}MAP * ~NOTFOUND,EXCLUDE localhost",
            "--enable-logging=stderr", "--vmodule=device_event_log*=2,*fido*=2,*cable*=2,*bluez*=1",
        ]

    def attach(self, kind, address):
        """Returns a running target other than a page, such as a worker, by its kind and a part of its address."""
        target = next(target["targetId"] for target in self._tools.call("Target.getTargets")["targetInfos"]
                      if target["type"] == kind and address in target["url"])
        return Tab(self._tools, target, self._waiting)

    def _page(self):
        targets = self._tools.call("Target.getTargets")["targetInfos"]
        return next((target["targetId"] for target in targets if target["type"] == "page"), None)

    def new_tab(self):
        """Opens another tab of the same window, in front."""
        target = self._tools.call("Target.createTarget", url="about:blank")["targetId"]
        return Tab(self._tools, target, self._waiting)

    def steps(self):
        """Names of the dialog's states so far, as Chromium logs them."""
        return STEP.findall(self.program.said())

    def errors(self):
        """Returns the number of errors that security keys have returned."""
        return self.program.said().count("(CTAP2 error code ")

    def stop(self):
        complaints = self.program.stop(ask=self.ask_to_end if self._tools else None)
        if self._tools:
            self._tools.close()
        return complaints

    def ask_to_end(self):
        self._tools.send("Browser.close")
