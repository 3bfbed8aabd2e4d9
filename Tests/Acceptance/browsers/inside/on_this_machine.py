# SPDX-License-Identifier: Apache-2.0
"""The same cases without a guest: the key's device and its hidraw node are simulated."""
import sys
from pathlib import Path

sys.path += [str(Path(__file__).parent), str(Path(__file__).parents[2] / "key")]

import environment
from browser_environment import LONG, BrowserEnvironment
from harness.marionette import CHROME
from harness.programs import brief
from simulated_node import SimulatedNode
from site_server import unknown_ids


class SimulatedEnvironment(BrowserEnvironment):
    """A browser that sees one security key, the simulated node."""

    preferences = {}
    port = 0

    def start(self):
        self._node = self.keep(SimulatedNode(self.folder, self.folder.environment()))
        self.command, self.variables = self._node.command, self._node.environment
        super().start()

    def start_key(self):
        key = environment.Key(self.number(), self)
        self._node.key = key
        return key


class Studio(SimulatedEnvironment):
    """Firefox and the real hybrid-prompt, for a picture of both."""

    port = 443

    def __init__(self, prompt, programs, folder, signals):
        super().__init__("firefox", 1, folder.path("ceremonies.jsonl"), programs, folder, signals)
        self._prompt = prompt

    def take(self, path):
        """Takes a picture of a sign-in while the window shows its code, and cancels it."""
        self.environment = {**self.screen.environment, **self.environment, "HYBRID_PROMPT": str(self._prompt),
                            "DISPLAY": self.screen.environment["DISPLAY"], "GSK_RENDERER": "cairo"}
        self.new_key()
        # The address bar of a browser that is driven by a program has another color.
        self.browser.marionette.script("document.documentElement.removeAttribute('remotecontrol')", context=CHROME)
        self.tab.perform("get", self.site.request_options(unknown_ids(3)))
        self.waiting.until("a picture with the code", lambda: self.screen.code(path), LONG)
        # The window stands over the page, not over the browser's question.
        brief(["xdotool", "search", "--sync", "--name", "^Sign in to ", "windowmove", "--sync", "700", "250"],
              environment=self.environment)
        self.waiting.until("a picture with the code", lambda: self.screen.code(path), LONG)
        # Few colors keep the file small.
        brief(["convert", str(path), "-crop", "1110x830+85+60", "+repage", "-strip", "+dither", "-colors", "64", "-define",
               "png:compression-level=9", f"PNG8:{path}"], environment=self.environment)
        self.browser.press_button()
        self.tab.wait_for("rejected", "the page to get its result", LONG)
