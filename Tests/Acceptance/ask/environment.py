# SPDX-License-Identifier: Apache-2.0
"""Environment of the sheet: for each run a screen, a session bus with the accessibility service, and hybrid-ask."""
import json
import re
import time

from harness.accessibility import SessionBus, elements_of
from harness.environment import TestEnvironment
from harness.programs import Program, brief
from harness.screen import Screen
from harness.waiting import Failed, Waiting

# The application ID, which is that of hybrid-passkeys, too.
WINDOW_CLASS = "io.github.hybrid_signin.Passkeys"
PHONE, LAPTOP = (360, 720), (1280, 800)


class SheetEnvironment(TestEnvironment):
    """Everything that runs of hybrid-ask need."""

    def __init__(self, ask, pictures, folder, signals):
        super().__init__()
        self.ask, self.pictures = ask, pictures
        self.folder, self.signals = folder, signals

    def start(self):
        # Each run has a screen of its own.
        pass

    def open(self, name, *, screen=LAPTOP, theme="light", scale=1, text=1, language=None, ask=None):
        """Starts hybrid-ask on a screen; `scale` enlarges everything, `text` the text alone; `language` is the
        name of a locale, such as de_DE.
        """
        return Sheet(self, name, screen, scale, ask or self.ask, {
            "ADW_DEBUG_COLOR_SCHEME": f"prefer-{theme}", "ADW_DISABLE_PORTAL": "1", "GDK_SCALE": str(scale),
            **(self._locale(language) if language else {})}, f"Xft.dpi: {96 * text}\n")

    def _locale(self, name):
        """Returns the variables of a locale, which is made first: without one, gettext does not translate."""
        folder = self.folder.scratch / "locales"
        if not (folder / f"{name}.UTF-8").exists():
            folder.mkdir(exist_ok=True)
            brief(["localedef", "--no-archive", "-i", name, "-f", "UTF-8", str(folder / f"{name}.UTF-8")],
                  environment=self.folder.environment())
        return {"LOCPATH": str(folder), "LC_ALL": f"{name}.UTF-8", "LANGUAGE": ""}


class Sheet:
    """One run of hybrid-ask, with the side of hybrid-auth in our hands."""

    def __init__(self, env, name, size, scale, ask, variables, resources):
        self._env, self._name, self._scale = env, name, scale
        # Of its own, because it watches programs that end with the run.
        self.waiting = waiting = Waiting(env.signals)
        self._parts = []
        settings = env.folder.scratch / name
        settings.mkdir()
        (settings / "resources").write_text(resources, encoding="ascii")
        width, height = (side * scale for side in size)
        try:
            self.screen = Screen(env.folder, waiting, size=f"{width}x{height}")
            self._parts.append(self.screen)
            bus = SessionBus(env.folder, waiting, self.screen.environment, name=f"{name}-bus")
            self._parts.append(bus)
            self._environment = {
                **self.screen.environment, "DBUS_SESSION_BUS_ADDRESS": bus.address, "XDG_CONFIG_HOME": str(settings),
                "GSETTINGS_BACKEND": "memory", "XENVIRONMENT": str(settings / "resources"), **variables}
            self._errors = env.folder.path(f"{name}.err")
            self.started = time.monotonic()
            argv = ask if isinstance(ask, list) else [ask]
            self._program = Program("hybrid-ask", ["sh", "-c", 'exec "$@" 2>"$0"', self._errors, *argv],
                                    log=env.folder.path(f"{name}.out"), environment=self._environment, pipe_input=True)
            self._parts.append(self._program)
            waiting.until("hybrid-ask to be ready", self._is_ready, 30)
        except BaseException:
            self._stop()
            raise

    def _is_ready(self):
        if self.status is not None:
            raise Failed(f"hybrid-ask {self._program.ending}: {self.errors.strip()}")
        return self.lines[:1] == [{"ready": 1}]

    def __enter__(self):
        return self

    def __exit__(self, kind, _error, _trace):
        if kind is not None:
            self.screen.picture(self._env.folder.path(f"failure-{self._name}.png"))
        self._stop()
        # GTK reports wrong names of properties, and layouts that do not fit, in this way only.
        complaints = [line for line in self.errors.splitlines()
                      if ("CRITICAL" in line or "WARNING" in line) and "session bus" not in line]
        if kind is None and complaints:
            raise Failed(f"hybrid-ask complained: {complaints[0]}")

    def _stop(self):
        for part in reversed(self._parts):
            self._env.complaints += part.stop()
        self._parts = []

    def send(self, *events):
        """Writes events as lines; texts are written unchanged."""
        self._program.write("".join((one if isinstance(one, str) else json.dumps(one)) + "\n" for one in events))

    def end_input(self):
        self._program.close_input()

    @property
    def lines(self):
        return [json.loads(line) for line in self._program.said().splitlines()]

    @property
    def answers(self):
        return self.lines[1:]

    @property
    def errors(self):
        return self._errors.read_text(encoding="utf-8", errors="replace") if self._errors.exists() else ""

    @property
    def status(self):
        return self._program.status

    @property
    def pid(self):
        return self._program.pid

    @property
    def memory(self):
        return self._program.peak_memory()

    def window(self):
        """Returns the ID of the window; None if there is none."""
        found = brief(["xdotool", "search", "--onlyvisible", "--class", WINDOW_CLASS], environment=self._environment,
                      check=False)
        return next(iter(found.stdout.split()), None)

    def until_open(self):
        def look():
            if self.status is not None:
                raise Failed(f"hybrid-ask {self._program.ending}: {self.errors.strip()}")
            return self.window()

        window = self.waiting.until("the window", look, 60)
        self.waiting.until("the window to have the focus", lambda: self._active() == window, 60)
        return window

    def _active(self):
        return brief(["xdotool", "getactivewindow"], environment=self._environment, check=False).stdout.strip()

    def until_hidden(self):
        self.waiting.until("the window to disappear", lambda: self.window() is None, 30)

    def until_ended(self, seconds=30):
        """Waits for the end of the program and returns its exit status."""
        self.waiting.until("hybrid-ask to end", lambda: self.status is not None, seconds)
        return self.status

    def until_answered(self, *expected):
        self.waiting.until(f"the answers {expected}; found {self.answers}",
                                lambda: len(self.answers) >= len(expected), 30)
        if self.answers != list(expected):
            raise Failed(f"expected the answers {expected}, found {self.answers}")

    def picture(self, suffix=""):
        """Takes a picture of the screen."""
        path = self._env.folder.path(f"{self._name}{suffix}.png")
        self.screen.picture(path)
        if self._env.pictures:
            self.screen.picture(self._env.pictures / path.name)
        return path

    def brightness(self):
        """Returns the brightness of a spot of the sheet that has no text, from 0 to 1."""
        left, top, width, height = self.area()
        spot = f"4x4+{left + 10 * self._scale}+{top + height - 12 * self._scale}"
        return float(brief(["convert", str(self.picture()), "-crop", spot, "-colorspace", "gray", "-format",
                            "%[fx:mean]", "info:"], environment=self._environment).stdout)

    def area(self):
        """Returns left, top, width and height of the window on the screen in pixels."""
        said = brief(["xdotool", "getwindowgeometry", "--shell", self.until_open()], environment=self._environment)
        return tuple(int(re.search(rf"^{side}=(-?\d+)$", said.stdout, re.MULTILINE)[1])
                     for side in ("X", "Y", "WIDTH", "HEIGHT"))

    def press(self, *keys):
        self.until_open()
        for key in keys:
            self.screen.press(key)

    def type(self, text):
        """Types a text; a line feed is Enter."""
        self.until_open()
        for part in re.split("(\n)", text):
            if part == "\n":
                self.screen.press("Return")
            elif part:
                brief(["xdotool", "type", "--delay", "20", part], environment=self._environment)

    def elements(self):
        """Returns what a screen reader knows: [role, name, states, place] of each element that is shown."""
        return elements_of(self._program.pid, self._environment, places=True)

    def find(self, role, name):
        return next((one for one in self.elements() if one[0] == role and one[1] == name), None)

    def until_named(self, role, name, *states, without=()):
        """Waits until a screen reader knows an element with and without states, and returns it."""
        seen = []

        def look():
            if self.status is not None:
                raise Failed(f"hybrid-ask {self._program.ending}: {self.errors.strip()}")
            seen[:] = self.elements()
            return next((one for one in seen if one[0] == role and one[1] == name
                         and set(states) <= set(one[2]) and not set(without) & set(one[2])), None)

        try:
            return self.waiting.until(f"the {role} {name!r} {states}", look, 30, pause=0.1)
        except Failed as error:
            raise Failed(f"{error}; found {[one[:3] for one in seen]}") from None

    def tap(self, role, name):
        """Taps an element once it can be used, as a finger or a mouse does."""
        self.until_named(role, name, without=("insensitive",))
        # The title bar, whose button also closes, comes before the buttons of the sheet.
        left, top, width, height = [one for one in self.elements() if one[:2] == [role, name]][-1][3]
        self._tap_at(left + width // 2, top + height // 2)

    def tap_cross(self):
        """Taps the button of the title bar; GTK tells screen readers a place of it that is wrong."""
        self.until_open()
        self._tap_at(self.area()[2] // self._scale - 24, 28)

    def _tap_at(self, x, y):
        brief(["xdotool", "mousemove", "--window", self.until_open(), str(x * self._scale), str(y * self._scale),
               "click", "1"], environment=self._environment)
