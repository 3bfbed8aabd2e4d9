# SPDX-License-Identifier: Apache-2.0
"""Debian's Chromium, unmodified, with a window; hybrid-client opens its page in it as in any running browser."""
import base64
import json
import os

from harness.browser import PLUMBING, _pipe
from harness.devtools import DevTools
from harness.programs import Program
from harness.waiting import Failed


class Window:
    def __init__(self, folder, screen, waiting):
        self._waiting, self._tools, self._strange = waiting, None, []
        profile = folder.scratch / "profile"
        # Chromium's sandbox does not work for root.
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        # A second start passes the address to the Chromium that runs with this profile, and ends.
        self.opener = folder.scratch / "open-page"
        self.opener.write_text(f"#!/bin/sh\nexec chromium {' '.join(sandbox)} --user-data-dir='{profile}' \"$1\"\n")
        self.opener.chmod(0o700)
        commands, to_browser = _pipe()
        from_browser, answers = _pipe()
        try:
            self.program = Program(
                "chromium",
                ["bash", "-c", PLUMBING, "chromium", commands, answers, "chromium", *sandbox,
                 "--remote-debugging-pipe", f"--user-data-dir={profile}", "--no-first-run",
                 "--no-default-browser-check", "--password-store=basic", "--lang=en-US", "--disable-gpu",
                 "--disable-background-networking", "--disable-component-update", "--disable-sync",
                 "--window-position=20,20", "--window-size=1200,900", "--no-proxy-server",
                 # A name that resolves to this device, as with DNS rebinding; no other name resolves.
                 "--host-resolver-rules=MAP rebound.example 127.0.0.1,MAP * ~NOTFOUND,EXCLUDE localhost,"
                 "EXCLUDE 127.0.0.1", "about:blank"],
                log=folder.path("chromium.log"), pass_fds=(commands, answers), environment=screen.environment)
        finally:
            os.close(commands)
            os.close(answers)
        try:
            waiting.watch(self.program)
            self._tools = DevTools(from_browser, to_browser, waiting)
            self.version = self._tools.call("Browser.getVersion")["product"]
            # New pages wait until their events are enabled, so that none is lost.
            self._tools.call("Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=True, flatten=True)
        except BaseException:
            self.stop()
            raise

    def page(self, what="hybrid-client to open its page", address="http://127.0.0.1:"):
        """Returns the page that is opened next, with its events from the beginning."""
        def opened():
            for event in self._tools.events("Target.attachedToTarget"):
                if event["targetInfo"]["type"] == "page":
                    page = Page(self._tools, self._waiting, event["sessionId"], event["targetInfo"]["targetId"])
                    page.begin()
                    self._strange.append(page)
            # A new page may have no address at first.
            page = next((page for page in self._strange if page.target_address.startswith(address)), None)
            if page:
                self._strange.remove(page)
            return page

        return self._waiting.until(what, opened, 60)

    def open(self, address):
        """Opens a page of the test itself."""
        self._tools.call("Target.createTarget", url=address)
        return self.page(f"Chromium to open {address}", address)

    def complaints(self):
        """Returns Chromium's complaints about pages: blocked scripts, styles and addresses, and errors in scripts."""
        said = [entry["entry"] for entry in self._tools.events("Log.entryAdded")]
        thrown = [event["exceptionDetails"] for event in self._tools.events("Runtime.exceptionThrown")]
        return [f"{entry['source']}: {entry['text']}" for entry in said if entry["level"] in ("warning", "error")] + [
            f"exception: {details.get('exception', {}).get('description', details['text'])}" for details in thrown]

    def stop(self):
        complaints = self.program.stop(ask=(lambda: self._tools.send("Browser.close")) if self._tools else None)
        if self._tools:
            self._tools.close()
        return complaints


class Page:
    def __init__(self, tools, waiting, session, target):
        self._tools, self._waiting, self._session, self._target = tools, waiting, session, target

    def begin(self):
        for method in ("Log.enable", "Runtime.enable", "Page.enable"):
            self._tools.call(method, self._session)
        self._tools.call("Runtime.runIfWaitingForDebugger", self._session)

    @property
    def target_address(self):
        return self._tools.call("Target.getTargetInfo", targetId=self._target)["targetInfo"]["url"]

    def value(self, expression):
        """Evaluates JavaScript and awaits promises; returns None while the page is between two documents."""
        try:
            result = self._tools.call("Runtime.evaluate", self._session, expression=expression, returnByValue=True,
                                      awaitPromise=True)
        except Failed:
            return None
        return result["result"].get("value")

    @property
    def stage(self):
        return self.value("document.documentElement.dataset.stage")

    @property
    def text(self):
        return self.value("document.body.innerText") or ""

    @property
    def source(self):
        return self.value("document.documentElement.outerHTML") or ""

    @property
    def address(self):
        return self.value("location.href")

    def wait_for(self, stage, seconds=60):
        def shown():
            now = self.stage
            if now == "failed" != stage:
                raise Failed(f"the page failed during the wait for {stage}: {self.text}")
            return now == stage

        self._waiting.until(f"the page to show the stage {stage}", shown, seconds)

    def picture(self, path):
        data = self._tools.call("Page.captureScreenshot", self._session)["data"]
        path.write_bytes(base64.b64decode(data))

    def prefer(self, scheme):
        self._tools.call("Emulation.setEmulatedMedia", self._session,
                         features=[{"name": "prefers-color-scheme", "value": scheme}])

    def front(self):
        self._tools.call("Page.bringToFront", self._session)

    def reload(self):
        self._tools.call("Page.reload", self._session)

    def navigate(self, address):
        self._tools.call("Page.navigate", self._session, url=address)

    def close(self):
        self._tools.call("Target.closeTarget", targetId=self._target)

    def accessible(self):
        """Returns (role, name, properties) of everything that assistive technology can read."""
        nodes = self._tools.call("Accessibility.getFullAXTree", self._session)["nodes"]
        return [(node["role"]["value"], node.get("name", {}).get("value", ""), json.dumps(node.get("properties", [])))
                for node in nodes if not node.get("ignored") and "role" in node]
