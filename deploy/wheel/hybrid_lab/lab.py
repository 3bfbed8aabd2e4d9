# SPDX-License-Identifier: Apache-2.0
"""The lab of a test session: a virtual radio, a relay and a screen."""
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

from hybrid_lab import environment, program
from hybrid_lab.processes import end, start

# A new Chromium shows no code if a passkey is requested before it has found the radio.
_RADIO_IS_FOUND = """async () => {
    const end = Date.now() + 30000;
    while (!(await PublicKeyCredential.getClientCapabilities()).hybridTransport) {
        if (Date.now() > end) throw new Error("Chromium has found no Bluetooth");
        await new Promise(again => setTimeout(again, 50));
    }
}"""
_READY_SECONDS = 30


class LabError(Exception):
    """The lab or its screen did not start."""


class Lab:
    """Sets the environment variables of a lab while it exists, so that browsers started by tests find it.

    Inside `hybrid-lab run`, it uses that lab and the screen in DISPLAY.
    """

    def __init__(self):
        self._processes = []
        self._before = {}
        try:
            if "HYBRID_LAB_CHROMIUM_ARGS" not in os.environ:
                self._start_lab()
                self._start_screen()
        except BaseException:
            self.close()
            raise

    @property
    def chromium_switches(self):
        """The switches that Chromium needs to reach the lab's relay and to appear on the lab's screen."""
        return [*json.loads(os.environ["HYBRID_LAB_CHROMIUM_ARGS"]), "--ozone-platform=x11"]

    @property
    def playwright(self):
        """The arguments of Playwright's `chromium.launch`; Debian's Chromium if it is installed."""
        # Without a window there is no dialog and no code.
        arguments = {"headless": False, "args": self.chromium_switches}
        chromium = shutil.which("chromium")
        if chromium is not None:
            arguments["executable_path"] = chromium
        return arguments

    def wait_for_radio(self, page):
        """Waits until Chromium has found the radio; `page` is a page of Playwright, which is then blank."""
        address = "http://localhost/hybrid-lab"
        page.route(address, lambda route: route.fulfill(body="<!doctype html>", content_type="text/html"))
        page.goto(address)
        page.evaluate(_RADIO_IS_FOUND)
        page.unroute(address)
        page.goto("about:blank")

    def take_picture(self, path):
        """Takes a picture of the whole screen, with the browser's dialogs, if ImageMagick is installed."""
        if shutil.which("import") is not None:
            subprocess.run(["import", "-silent", "-window", "root", str(path)], check=False)

    def close(self):
        """Ends the lab and restores the environment."""
        while self._processes:
            end(self._processes.pop())
        for name, value in self._before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        self._before.clear()

    def _set(self, variables):
        for name, value in variables.items():
            self._before.setdefault(name, os.environ.get(name))
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value

    def _start_lab(self):
        with tempfile.TemporaryFile() as errors:
            process = start([program(), "up", "--json"], env=environment(), stdout=subprocess.PIPE, stderr=errors)
            self._processes.append(process)
            line = _line_of(process.stdout, process)
            if not line:
                end(process)
                errors.seek(0)
                raise LabError("the lab did not start: " + errors.read().decode(errors="replace").strip())
        self._set(json.loads(line)["environment"])

    def _start_screen(self):
        if shutil.which("Xvfb") is None:
            raise LabError("there is no Xvfb, which the lab's screen needs; on Debian, `apt install xvfb`")
        ours, theirs = os.pipe()
        with os.fdopen(ours, "rb") as number, tempfile.TemporaryFile() as errors:
            try:
                process = start(["Xvfb", "-displayfd", str(theirs), "-screen", "0", "1280x1024x24", "-nolisten", "tcp"],
                                pass_fds=[theirs], stdout=subprocess.DEVNULL, stderr=errors)
            finally:
                os.close(theirs)
            self._processes.append(process)
            line = _line_of(number, process)
            if not line:
                end(process)
                errors.seek(0)
                raise LabError("Xvfb did not start: " + errors.read().decode(errors="replace").strip())
        # The lab's screen is X11's only.
        self._set({"DISPLAY": f":{int(line)}", "XAUTHORITY": None, "WAYLAND_DISPLAY": None})


def _line_of(stream, process):
    """Returns the first line that a program writes; without its end, the program has ended or is too slow."""
    line, limit = b"", time.monotonic() + _READY_SECONDS
    while not line.endswith(b"\n"):
        if not select.select([stream], [], [], max(0, limit - time.monotonic()))[0]:
            return b""
        # More than a line is not written.
        part = os.read(stream.fileno(), 65536)
        if not part:
            return b""
        line += part
    return line
