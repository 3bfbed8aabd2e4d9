# SPDX-License-Identifier: Apache-2.0
"""Environment of the window: screen, session bus with the accessibility service, and runs of hybrid-prompt."""
import json
import re

from harness.accessibility import SessionBus, elements_of
from harness.environment import TestEnvironment
from harness.programs import Program, brief
from harness.radio import VirtualRadio
from harness.screen import Screen
from harness.waiting import Failed, Waiting

DARK_SETTINGS = "[Settings]\ngtk-application-prefer-dark-theme=1\n"
# What GNOME's switch for dark windows writes, as a file instead of dconf.
GNOME_DARK = "[org/gnome/desktop/interface]\ncolor-scheme='prefer-dark'\n"


class PromptEnvironment(TestEnvironment):
    """Everything that a run of hybrid-prompt needs."""

    def __init__(self, prompt, programs, folder, signals):
        super().__init__()
        self.prompt, self.programs = prompt, programs
        self.folder, self.waiting = folder, Waiting(signals)
        self.radio = None

    def start(self):
        # A window at 2× needs more than an ordinary screen.
        self.screen = self.keep(Screen(self.folder, self.waiting, size="1600x1400"))
        self.bus = self.keep(SessionBus(self.folder, self.waiting, self.screen.environment))
        if self.programs:
            self.radio = self.keep(VirtualRadio(self.programs, self.folder, self.waiting))

    def open(self, name, *, theme="light", scale=1, text=1, command=None):
        """Starts hybrid-prompt, or a command that becomes it; `scale` enlarges everything, `text` the text alone."""
        settings = self.folder.scratch / name
        (settings / "gtk-4.0").mkdir(parents=True)
        (settings / "glib-2.0/settings").mkdir(parents=True)
        if theme == "dark":
            (settings / "gtk-4.0/settings.ini").write_text(DARK_SETTINGS, encoding="ascii")
        resources = settings / "resources"
        resources.write_text(f"Xft.dpi: {96 * text}\n", encoding="ascii")
        if theme == "gnome-dark":
            (settings / "glib-2.0/settings/keyfile").write_text(GNOME_DARK, encoding="ascii")
        return Prompt(self, name, command, {
            **self.screen.environment, "DBUS_SESSION_BUS_ADDRESS": self.bus.address, "XDG_CONFIG_HOME": str(settings),
            "GSETTINGS_BACKEND": "keyfile", "GDK_SCALE": str(scale), "XENVIRONMENT": str(resources),
            **({"DBUS_SYSTEM_BUS_ADDRESS": self.radio.address} if self.radio else {})})


class Prompt:
    """One run of hybrid-prompt, with its input in our hands."""

    def __init__(self, env, name, command, environment):
        self._env, self._name, self._environment = env, name, environment
        self._errors = env.folder.path(f"{name}.err")
        self._program = Program(
            "hybrid-prompt", ["sh", "-c", 'exec "$@" 2>"$0"', self._errors, *(command or [env.prompt])],
            log=env.folder.path(f"{name}.out"), environment=environment, pipe_input=True)

    def __enter__(self):
        return self

    def __exit__(self, kind, _error, _trace):
        if kind is not None:
            self._env.screen.picture(self._env.folder.path(f"failure-{self._name}.png"))
        self._env.complaints += self._program.stop()

    def send(self, *events):
        """Writes events as lines; texts are written unchanged."""
        self._program.write("".join((one if isinstance(one, str) else json.dumps(one)) + "\n" for one in events))

    def end_input(self):
        self._program.close_input()

    @property
    def answers(self):
        return self._program.said().split()

    @property
    def errors(self):
        return self._errors.read_text(encoding="utf-8", errors="replace")

    @property
    def status(self):
        return self._program.status

    def window(self):
        """Returns the ID of the window; None if there is none."""
        found = brief(["xdotool", "search", "--onlyvisible", "--class", "hybrid-prompt"],
                      environment=self._environment, check=False)
        return next(iter(found.stdout.split()), None)

    def until_open(self):
        def look():
            if self.status is not None:
                raise Failed(f"hybrid-prompt {self._program.ending}: {self.errors.strip()}")
            return self.window()

        window = self._env.waiting.until("the window", look, 60)
        self._env.waiting.until("the window to have the focus", lambda: self._has_focus(window), 60)
        return window

    def _has_focus(self, window):
        return brief(["xdotool", "getactivewindow"], environment=self._environment, check=False).stdout.strip() == window

    def until_ended(self, seconds=30):
        """Waits for the end of the program and returns its exit status."""
        self._env.waiting.until("hybrid-prompt to end", lambda: self.status is not None, seconds)
        if self.window():
            raise Failed("expected the window to close with the program; it is still there")
        return self.status

    def press_until_answers(self, key, *expected):
        """Presses a key until the program has accepted it: it ignores keys for half a second after an offer appears."""
        self.until_open()
        self._env.screen.press_until(key, f"the answers {expected}", lambda: self.answers == list(expected), 30)

    def code(self):
        """Waits for a code in a picture of the screen and returns its text."""
        picture = self._env.folder.path(f"{self._name}.png")
        return self._env.waiting.until("a picture of the window with a code that zbar can read",
                                       lambda: self._env.screen.code(picture), 60)

    def picture(self, path):
        """Takes a picture of the window's content."""
        brief(["import", "-silent", "-window", self.until_open(), str(path)], environment=self._environment)

    def size(self):
        said = brief(["xdotool", "getwindowgeometry", "--shell", self.until_open()], environment=self._environment)
        return tuple(int(re.search(rf"^{side}=(\d+)$", said.stdout, re.MULTILINE)[1]) for side in ("WIDTH", "HEIGHT"))

    def brightness(self):
        """Returns the brightness of the window's lower left corner, from 0 to 1."""
        path = self._env.folder.path(f"{self._name}-window.png")
        self.picture(path)
        return float(brief(["convert", str(path), "-gravity", "SouthWest", "-crop", "8x8+4+4", "-colorspace", "gray",
                            "-format", "%[fx:mean]", "info:"], environment=self._environment).stdout)

    def press(self, *keys):
        self.until_open()
        for key in keys:
            self._env.screen.press(key)

    def elements(self):
        """Returns what a screen reader knows: [role, name, states] of each element that is shown."""
        return elements_of(self._program.pid, self._environment)

    def until_named(self, role, name):
        """Waits until a screen reader knows an element."""
        seen = []

        def look():
            seen[:] = self.elements()
            return any(one[0] == role and one[1] == name for one in seen)

        try:
            self._env.waiting.until(f"the {role} {name!r}", look, 30, pause=0.2)
        except Failed as error:
            raise Failed(f"{error}; found {seen}") from None
