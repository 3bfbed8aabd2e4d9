# SPDX-License-Identifier: Apache-2.0
"""Environment of the app: for each run a screen, a session bus with the accessibility service, and hybrid-passkeys."""
import json
import sys
from pathlib import Path

from harness.accessibility import SessionBus, elements_of
from harness.command import REPOSITORY
from harness.environment import TestEnvironment
from harness.programs import Program, brief, session_members
from harness.screen import Screen
from harness.waiting import Failed, Waiting

APPLICATION = "io.github.hybrid_signin.Passkeys"
PHONE, LAPTOP = (360, 720), (1280, 800)
FAKE = Path(__file__).with_name("fake_hybrid_auth.py")
SERVICE = REPOSITORY / "Desktop/data" / f"{APPLICATION}.service"
EXPORTED = Path(__file__).with_name("exported.py")


class AppEnvironment(TestEnvironment):
    """Everything that runs of hybrid-passkeys need."""

    def __init__(self, app, pictures, folder, signals):
        super().__init__()
        self.app, self.pictures = app, pictures
        self.folder, self.signals = folder, signals

    def start(self):
        # Each run has a screen of its own.
        pass

    def open(self, name, *, story="", screen=PHONE, text=1, theme="light", arguments=(), activated=False):
        """Starts hybrid-passkeys, unless it is to be activated; `story` chooses what the fake hybrid-auth tells."""
        return App(self, name, screen, story, None if activated else arguments, {
            "ADW_DEBUG_COLOR_SCHEME": f"prefer-{theme}", "ADW_DISABLE_PORTAL": "1"}, f"Xft.dpi: {96 * text}\n")


class App:
    """One run of hybrid-passkeys."""

    def __init__(self, env, name, size, story, arguments, variables, resources):
        self._env, self._name, self._size = env, name, size
        self.waiting = waiting = Waiting(env.signals)
        #: The number of taps so far.
        self.taps = 0
        self._parts = []
        settings = env.folder.scratch / name
        settings.mkdir()
        (settings / "resources").write_text(resources, encoding="ascii")
        self._log = settings / "commands"
        runtime = settings / "runtime"
        runtime.mkdir(mode=0o700)
        # A copy with the tests' Python, because a folder of the system may have another one.
        helper = settings / "hybrid-auth"
        helper.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{FAKE}" "$@"\n', encoding="utf-8")
        helper.chmod(0o755)
        try:
            # The window manager adds a border of its own to a window, which is larger than the screen of a phone at first.
            self.screen = Screen(env.folder, waiting, size="1400x1000")
            self._parts.append(self.screen)
            environment = {
                **self.screen.environment, "XDG_CONFIG_HOME": str(settings), "XDG_DATA_HOME": str(settings / "data"),
                "GSETTINGS_BACKEND": "memory", "XENVIRONMENT": str(settings / "resources"), "HYBRID_AUTH": str(helper),
                "FAKE_STORY": story, "FAKE_LOG": str(self._log), "FAKE_VAULT": str(settings / "vault"),
                # Without a PipeWire of the user's.
                "XDG_RUNTIME_DIR": str(runtime), "PIPEWIRE_RUNTIME_DIR": str(runtime), **variables}
            services = settings / "data/dbus-1/services"
            services.mkdir(parents=True)
            service = SERVICE.read_text(encoding="utf-8").replace("/usr/bin/hybrid-passkeys", str(env.app))
            (services / SERVICE.name).write_text(service, encoding="utf-8")
            self._add_browser(settings)
            bus = SessionBus(env.folder, waiting, environment, name=f"{name}-bus")
            self._parts.append(bus)
            self._environment = {**environment, "DBUS_SESSION_BUS_ADDRESS": bus.address}
            self._program = bus.program
            if arguments is not None:
                self._program = self._start("app", arguments)
                self._parts.append(self._program)
                self._fit()
        except BaseException:
            self._stop()
            raise

    def _add_browser(self, settings):
        """Makes a program that logs addresses the one that opens them."""
        browser = settings / "browser"
        browser.write_text(f'#!/bin/sh\necho "browser $1" >>"{self._log}"\n', encoding="ascii")
        browser.chmod(0o755)
        programs = settings / "data/applications"
        programs.mkdir(parents=True)
        (programs / "browser.desktop").write_text(
            f"[Desktop Entry]\nType=Application\nName=Browser\nExec={browser} %u\nMimeType=x-scheme-handler/https;\n",
            encoding="ascii")
        (settings / "mimeapps.list").write_text("[Default Applications]\nx-scheme-handler/https=browser.desktop\n",
                                                encoding="ascii")

    def _start(self, name, arguments):
        return Program("hybrid-passkeys", [self._env.app, *arguments], log=self._env.folder.path(f"{self._name}-{name}.log"),
                       environment=self._environment)

    def _fit(self):
        window = self.until_open()
        width, height = map(str, self._size)
        brief(["xdotool", "windowmove", window, "0", "0", "windowsize", "--sync", window, width, height],
              environment=self._environment, check=False)

    def __enter__(self):
        return self

    def __exit__(self, kind, _error, _trace):
        if kind is not None:
            self.picture("-failure")
        self._stop()
        complaints = [line for line in self._program.said().splitlines() if "CRITICAL" in line or "WARNING" in line]
        if kind is None and complaints:
            raise Failed(f"hybrid-passkeys complained: {complaints[0]}")

    def _stop(self):
        for part in reversed(self._parts):
            self._env.complaints += part.stop()
        self._parts = []

    def start_again(self, *arguments):
        """Starts the program a second time and returns its exit status."""
        second = self._start("second", arguments)
        try:
            self.waiting.until("the second start to end", lambda: second.status is not None, 30)
            return second.status
        finally:
            self._env.complaints += second.stop()

    def activate(self, what, *arguments):
        """Lets the session bus start the program, as a desktop does; `what` is launch or action."""
        brief(["gapplication", what, APPLICATION, *arguments], environment=self._environment)

    @property
    def _process(self):
        """The process ID of the program, which the session bus may have started."""
        below = session_members(self._program.pid)
        return next((one for one, its in below.items() if its == self._env.app.name[:15]), self._program.pid)

    def command_line(self):
        return Path(f"/proc/{self._process}/cmdline").read_text(encoding="utf-8")

    def choose_file(self, title, path):
        """Types a path into the dialog of GTK, as there is no portal here."""
        def windows():
            found = brief(["xdotool", "search", "--onlyvisible", "--name", title], environment=self._environment, check=False)
            # Any window that closes during the search, such as a list of proposals, ends it without a result.
            return None if found.stderr.strip() else found.stdout.split()

        shown = self.waiting.until(f"the dialog {title!r}", windows, 30)[0]
        brief(["xdotool", "windowfocus", "--sync", shown], environment=self._environment)
        if path.exists():
            # The dialog for existing files begins with the recent ones, among which it ignores a path, and has no entry yet.
            # The entry would close if the dialog changed its folder later.
            home = Path(self._environment["HOME"]).name
            self.screen.press_until("alt+Home", "the home folder", lambda: home in self.names(), 60, pause=4)
            before = self._entries()
            self.screen.press_until("ctrl+l", "the entry of a path", lambda: self._entries() > before, 30)
        else:
            self.screen.press("ctrl+a")
        self.type(str(path))
        # The dialog looks up the file in the background; Enter meanwhile is ignored, or begins it again.
        self.screen.press_until("Return", f"the dialog {title!r} to close", lambda: windows() == [], 60, pause=4)

    def _entries(self):
        return sum(one[0] in ("text", "entry") for one in self.elements())

    @property
    def commands(self):
        """What the fake hybrid-auth was told: JSON objects, and lines of other commands."""
        if not self._log.exists():
            return []
        lines = self._log.read_text(encoding="utf-8").splitlines()
        return [json.loads(line) if line.startswith("{") else line for line in lines]

    def until_commanded(self, what, look):
        """Waits for a command for which `look` is true, and returns it."""
        return self.waiting.until(f"{what}; found {self.commands}",
                                  lambda: next((one for one in self.commands if look(one)), None), 30)

    def exported(self):
        """Returns the names of the actions that any program of the session can activate."""
        said = brief(["/usr/bin/python3", str(EXPORTED), APPLICATION], environment=self._environment)
        return json.loads(said.stdout)

    def until_window(self):
        """Waits for the window, and gives it the size of the screen."""
        self._fit()

    def until_open(self):
        def look():
            if self._program.status is not None:
                raise Failed(f"hybrid-passkeys {self._program.ending}: {self._program.said().strip()[-2000:]}")
            found = brief(["xdotool", "search", "--onlyvisible", "--class", APPLICATION], environment=self._environment,
                          check=False)
            return next(iter(found.stdout.split()), None)

        return self.waiting.until("the window", look, 60)

    def picture(self, suffix=""):
        """Takes a picture of the window."""
        path = self._env.folder.path(f"{self._name}{suffix}.png")
        area = f"{self._size[0]}x{self._size[1]}+0+0"
        for target in (path, *([self._env.pictures / path.name] if self._env.pictures else [])):
            brief(["import", "-silent", "-window", "root", "-crop", area, str(target)], environment=self._environment,
                  check=False)

    def press(self, *keys):
        self.until_open()
        for key in keys:
            self.screen.press(key)

    def type(self, text):
        brief(["xdotool", "type", "--delay", "20", text], environment=self._environment)

    def elements(self):
        """Returns what a screen reader knows: [role, name, states, place] of each element that is shown."""
        return elements_of(self._process, self._environment, places=True)

    def names(self):
        return [one[1] for one in self.elements()]

    def until_named(self, name, *roles):
        """Waits until a screen reader knows an element, and returns it."""
        seen = []

        def look():
            if self._program.status is not None:
                raise Failed(f"hybrid-passkeys {self._program.ending}: {self._program.said().strip()[-2000:]}")
            seen[:] = self.elements()
            return next((one for one in seen if one[1] == name and (not roles or one[0] in roles)), None)

        try:
            return self.waiting.until(f"the element {name!r} {roles}", look, 30, pause=0.1)
        except Failed as error:
            raise Failed(f"{error}; found {[one[:2] for one in seen if one[1]]}") from None

    def until_gone(self, name):
        self.waiting.until(f"{name!r} to disappear", lambda: name not in self.names(), 30, pause=0.1)

    def tap(self, name, *roles):
        """Taps an element, as a finger or a mouse does."""
        roles = roles or ("button", "list item", "toggle button", "radio button", "page tab", "tab", "switch", "entry", "text")
        left, top, width, height = self.until_named(name, *roles)[3]
        # A page that slides in is not where it was seen.
        place = None

        def rests():
            nonlocal place
            elements = self.elements()
            found = next((one for one in elements if one[1] == name and one[0] in roles), None)
            before, place = place, found and found[3]
            if place is None or place != before:
                return False
            # A page may scroll below the bar with the two lists.
            bars = [one[3][1] for one in elements if one[0] in TABS and one[3][1] > self._size[1] // 2]
            if found[0] not in TABS and place[1] + place[3] > min(bars, default=self._size[1]):
                self._click(self._size[0] // 2, self._size[1] // 2, WHEEL_DOWN)
                return False
            return True

        self.waiting.until(f"{name!r} to rest", rests, 30, pause=0.1)
        left, top, width, height = place
        self._click(left + width // 2 + BORDER, top + height // 2 + BORDER)
        self.taps += 1

    def _click(self, x, y, button=1):
        brief(["xdotool", "mousemove", "--window", self.until_open(), str(x), str(y), "click", str(button)],
              environment=self._environment)

    def menu(self, *keys):
        """Chooses from the main menu with keys."""
        self.press("F10")
        self.until_named("Main Menu")
        self.waiting.until("the menu to open", lambda: any(one[0] == "menu item" for one in self.elements()), 30)
        self.press(*keys, "Return")


TABS = ("page tab", "tab")
# The part of GTK's border that the places of the accessibility service leave out.
BORDER = 10
WHEEL_DOWN = 5
