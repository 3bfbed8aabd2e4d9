# SPDX-License-Identifier: Apache-2.0
"""Environment of the app: radio, relay, website, a screen, PipeWire with a virtual camera, and runs of the app."""
import json
import os
import re
import signal
import time
from pathlib import Path

from harness.accessibility import SessionBus, elements_of
from harness.certificates import Certificates
from harness.command import REPOSITORY
from harness.environment import TestEnvironment
from harness.programs import CRASHES, Program, brief, session_members
from harness.radio import VirtualRadio
from harness.relay import DOMAIN, HOST, Relay
from harness.relying_party import RelyingParty
from harness.screen import Screen
from harness.waiting import Failed, Waiting, must

ORIGIN = "https://localhost"
PIN = "472913"
PHONE = (360, 720)
# The part of the app's border that the places of the accessibility service leave out; the sheet has none.
BORDER = 10
WHEEL_DOWN = 5
TAPPED = ("button", "list item", "toggle button", "radio button", "page tab", "tab", "switch", "entry", "text")
CAMERA_SIZE = (960, 540)
LIMIT = 60

# The app does not know that the relay is on this computer. The time of the file `started` is that of the last scan.
WRAPPER = """#!/bin/sh
case $1 in
    scan) : >"{folder}/started"
          exec "{auth}" "$@" $(cat "{folder}/options" 2>/dev/null) --adapter hci1 --connect-to {host}:443:127.0.0.1:{port} ;;
    listen) exec "{auth}" "$@" --adapter hci1 --connect-to {host}:443:127.0.0.1:{port} ;;
    setup | doctor) exec "{auth}" "$@" --connect-to {host}:443:127.0.0.1:{port} ;;
    *) exec "{auth}" "$@" ;;
esac
"""

# The sheet is a program of hybrid-auth's, so only a parent in between learns that it has crashed.
# Programs in the background of a shell have an empty input, unless it is another descriptor.
WATCHED_ASK = """#!/bin/sh
exec 3<&0
"{ask}" <&3 3<&- &
trap 'kill -TERM $!' TERM INT
while wait $!; status=$?; kill -0 $! 2>/dev/null; do :; done
echo "$status" >>"{ends}"
exit "$status"
"""


class AppEnvironment(TestEnvironment):
    """Everything that runs of the app need; each case begins with the vault that the last one has left."""

    relay_options = ()

    def __init__(self, programs, pictures, folder, signals):
        super().__init__()
        self.programs, self.pictures, self.folder, self.waiting = programs, pictures, folder, Waiting(signals)
        self._number, self._cameras = 0, []

    def start(self):
        self.certificates = Certificates(self.folder.scratch / "certificates", HOST, self.folder.environment())
        self.radio = self.keep(VirtualRadio(self.programs, self.folder, self.waiting))
        self.relay = self.keep(Relay(self.programs, self.folder, self.certificates, self.waiting,
                                      self.relay_options))
        self.site = RelyingParty(ORIGIN, self.folder.path("site.jsonl"))
        self.auth = self.folder.scratch / "hybrid-auth"
        self.started, self.options = self.folder.scratch / "started", self.folder.scratch / "options"
        self.auth.write_text(WRAPPER.format(auth=self.programs.auth, folder=self.folder.scratch, host=HOST,
                                            port=self.relay.port), encoding="ascii")
        self.auth.chmod(0o700)
        self.ask, self._ends = self.folder.scratch / "watched-ask", self.folder.path("sheets.txt")
        self.ask.write_text(WATCHED_ASK.format(ask=self.programs.ask, ends=self._ends), encoding="ascii")
        self.ask.chmod(0o700)
        self.start_screen()
        self.bus = self.keep(SessionBus(self.folder, self.waiting, self.screen.environment))
        settings = self.folder.home / ".config/hybrid"
        settings.mkdir(parents=True)
        (settings / "auth.env").write_text(f"HYBRID_CACERT={self.certificates.authority}\n", encoding="ascii")
        self.environment = {
            **self.screen.environment, "DBUS_SESSION_BUS_ADDRESS": self.bus.address,
            "DBUS_SYSTEM_BUS_ADDRESS": self.radio.address, "HYBRID_AUTH": str(self.auth),
            "HYBRID_ASK": str(self.ask), "GSETTINGS_BACKEND": "memory", "ADW_DISABLE_PORTAL": "1"}
        self._start_cameras()

    def start_screen(self):
        self.screen = self.keep(Screen(self.folder, self.waiting, size="1400x1000"))

    def _start_cameras(self):
        for name in ("seats", "sessions", "users", "machines"):
            # Without these folders, which systemd makes, WirePlumber ends.
            Path("/run/systemd", name).mkdir(parents=True, exist_ok=True)
        for name in ("pipewire", "wireplumber"):
            self.keep(Program(name, [name], log=self.folder.path(f"{name}.log"), environment=self.environment))
            if name == "pipewire":
                self.waiting.until("PipeWire's socket", lambda: (self.folder.sockets / "pipewire-0").exists(), LIMIT)
        self.waiting.until("WirePlumber to be ready", self._has_session_manager, LIMIT)
        flags = brief(["pkg-config", "--cflags", "--libs", "libpipewire-0.3"], environment=self.environment).stdout
        self._camera_program = self.folder.scratch / "camera"
        brief(["cc", "-O1", "-D_GNU_SOURCE", str(REPOSITORY / "Tests/Counterparts/camera/camera.c"), "-o",
               str(self._camera_program), *flags.split()], environment=self.environment)

    def _has_session_manager(self):
        listed = brief(["pw-cli", "ls", "Metadata"], environment=self.environment, check=False)
        return '"default"' in listed.stdout

    def number(self):
        self._number += 1
        return self._number

    def after_case(self, name, failed):
        if failed:
            self.screen.picture(self.folder.path(f"failure-{name}.png"))
        self.hide_code()
        ends = self._ends.read_text(encoding="ascii").split() if self._ends.exists() else []
        self._ends.write_text("", encoding="ascii")
        return [f"hybrid-ask was killed by {signal.Signals(int(one) - 128).name}" for one in ends
                if int(one) - 128 in CRASHES]

    def show_code(self, picture, blank=False):
        """Points the only camera at a picture of a code, or at a wall."""
        self.hide_code()
        self.add_camera(picture, blank)

    def add_camera(self, picture, blank=False, location="back"):
        """Plugs in a camera at a side of the device."""
        raw, (width, height) = self.folder.scratch / f"code-{self.number()}.gray", CAMERA_SIZE
        colors = ["-fill", "gray", "-colorize", "100"] if blank else []
        brief(["convert", str(picture), *colors, "-resize", "480x480", "-background", "white", "-gravity", "center", "-extent",
               f"{width}x{height}", "-depth", "8", f"gray:{raw}"], environment=self.environment)
        log = self.folder.path(f"camera-{self.number()}.log")
        camera = Program("camera", [
            self._camera_program, "format=YUY2", f"width={width}", f"height={height}", f"file={raw}",
            f"node.name=test-camera-{location}", f"api.libcamera.location={location}"], log=log,
            environment=self.environment)
        self._cameras.append(camera)
        self.waiting.until("the camera", lambda: "ready" in camera.said(), LIMIT)

    def hide_code(self):
        """Unplugs all cameras."""
        while self._cameras:
            self._cameras.pop().kill()

    def client(self, options):
        """Starts show-qr with options of the website."""
        number = self.number()
        request, picture = (self.folder.scratch / f"request-{number}.{kind}" for kind in ("json", "png"))
        request.write_text(json.dumps({"publicKey": options}), encoding="utf-8")
        client = Client("hybrid-client", [
            self.programs.client, "show-qr", "--json", "--request", request, "--origin", ORIGIN, "--adapter", "hci0",
            "--cacert", self.certificates.authority, "--connect-to", f"{HOST}:443:127.0.0.1:{self.relay.port}",
            "--qr-output", picture], log=self.folder.path(f"client-{number}.log"),
            environment=self.folder.environment(DBUS_SYSTEM_BUS_ADDRESS=self.radio.address))
        client.picture = picture
        self.waiting.until("a picture of the code", lambda: picture.exists() and '"state":"scan"' in client.said(),
                           LIMIT)
        return self.keep(client)

    def ended(self, client, status=0):
        """Waits for the end of a client; returns its response, if any."""
        self.waiting.until("hybrid-client to end", lambda: client.status is not None, LIMIT)
        must(client.status == status, f"expected status {status}; hybrid-client {client.ending}: {client.said()}")
        found = [json.loads(line) for line in client.said().splitlines() if '"rawId"' in line]
        return found[0] if found else None

    def open(self, name, *arguments):
        return App(self, name, arguments)

    def list_latency(self):
        """Returns the median time of the command list in a session, after its PIN."""
        # The variable is one of the app's.
        environment = {name: value for name, value in self.environment.items() if name != "HYBRID_AUTH"}
        session = self.keep(Program("hybrid-auth", [self.auth, "passkeys", "session", "--json"], pipe_input=True,
                                    log=self.folder.path("session.log"), environment=environment))
        self.waiting.until("the request sheet", lambda: self.window_of("hybrid-ask", session.pid), LIMIT)
        brief(["xdotool", "type", "--delay", "20", PIN], environment=self.environment)
        self.screen.press_until("Return", "the session", lambda: '"ready"' in session.said(), LIMIT)
        times = []
        for number in range(1, 21):
            began = time.monotonic()
            session.write(f'{{"do":"list","n":{number}}}\n')
            self.waiting.until("the list", lambda number=number: f'{{"n":{number},' in session.said(), LIMIT, pause=0.001)
            times.append(time.monotonic() - began)
        session.close_input()
        self.waiting.until("the session to end", lambda: session.status is not None, LIMIT)
        return sorted(times)[len(times) // 2]

    def window_of(self, name, session):
        """Returns the window of a program with a name in a session; None if there is none."""
        for process, its in session_members(session).items():
            if its == name[:15]:
                found = brief(["xdotool", "search", "--onlyvisible", "--pid", str(process)], environment=self.environment,
                              check=False)
                return next(iter(found.stdout.split()), None)
        return None

    def vault(self):
        """Returns the records of the vault with their contents."""
        folder = self.folder.home / ".local/share/vault"
        return {path.name: path.read_bytes() for path in folder.rglob("records/*/*") if not path.name.startswith(".")}


class Client(Program):
    """A run of show-qr, which a case may leave running."""


class App:
    """A run of the app, and the sheets that it leads to."""

    def __init__(self, env, name, arguments=()):
        self._env, self._name = env, name
        self._program = Program("hybrid-passkeys", [env.programs.app, *arguments],
                                log=env.folder.path(f"{name}.log"), environment=env.environment)

    def __enter__(self):
        window = self._env.waiting.until("the window", lambda: self._window(self.pid), LIMIT)
        width, height = map(str, PHONE)
        brief(["xdotool", "windowmove", window, "0", "0", "windowsize", "--sync", window, width, height],
              environment=self._env.environment, check=False)
        return self

    def __exit__(self, kind, _error, _trace):
        if kind is not None:
            self._env.screen.picture(self._env.folder.path(f"failure-{self._name}.png"))
            self._env.folder.path(f"failure-{self._name}.txt").write_text(
                "\n".join(str(one[:3]) for one in self.elements()), encoding="utf-8")
        self._env.complaints += self._program.stop()

    @property
    def pid(self):
        return self._program.pid

    @property
    def status(self):
        return self._program.status

    def kill(self):
        self._program.kill()

    def said(self):
        return self._program.said()

    def child(self, name):
        """Returns the process ID of a program that the app has started, directly or not; None if there is none."""
        # The kernel keeps 15 characters of a name. A sheet that shows a failure outlives hybrid-auth.
        return next((process for process, its in session_members(self.pid).items() if its == name[:15]), None)

    def kill_child(self, name):
        process = self._env.waiting.until(f"{name} to run", lambda: self.child(name), LIMIT)
        os.kill(process, signal.SIGKILL)

    def elements(self, process=None):
        return elements_of(process or self.pid, self._env.environment, places=True)

    def sheet(self):
        """Waits for the request sheet; returns its process ID."""
        def look():
            process = self.child("hybrid-ask")
            return process if process and self._window(process) else None

        return self._env.waiting.until("the request sheet", look, LIMIT)

    def until_no_sheet(self):
        self._env.waiting.until("the request sheet to close", lambda: not self.child("hybrid-ask"), LIMIT)

    def until_named(self, name, *roles, process=None, part=False):
        """Waits until a screen reader knows an element that can be used, and returns it.

        `part` is true if `name` is a part of the element's name.
        """
        seen = []

        def is_it(one):
            said = one[1] or ""
            return (name in said if part else name == said) and (not roles or one[0] in roles) and "insensitive" not in one[2]

        def look():
            must(self.status is None, f"hybrid-passkeys {self._program.ending}: {self.said()}")
            seen[:] = self.elements(process)
            return next((one for one in seen if is_it(one)), None)

        try:
            return self._env.waiting.until(f"the element {name!r} {roles}", look, LIMIT, pause=0.1)
        except Failed as error:
            raise Failed(f"{error}; found {[one[:3] for one in seen if one[1]]}") from None

    def _window(self, process):
        found = brief(["xdotool", "search", "--onlyvisible", "--pid", str(process)],
                      environment=self._env.environment, check=False)
        return next(iter(found.stdout.split()), None)

    def tap(self, name, *roles, process=None):
        """Taps an element, as a finger or a mouse does, once it can be used and rests."""
        roles, place = roles or TAPPED, None

        def rests():
            nonlocal place
            before, place = place, self.until_named(name, *roles, process=process)[3]
            if place == before and not process and place[1] + place[3] > PHONE[1]:
                self._click(self.pid, PHONE[0] // 2, PHONE[1] // 2, WHEEL_DOWN)
                return False
            return place == before

        self._env.waiting.until(f"{name!r} to rest", rests, LIMIT, pause=0.1)
        left, top, width, height = place
        border = 0 if process else BORDER
        self._click(process or self.pid, left + width // 2 + border, top + height // 2 + border)

    def _click(self, process, x, y, button=1):
        window = self._env.waiting.until("a window", lambda: self._window(process), LIMIT)
        brief(["xdotool", "mousemove", "--window", window, str(x), str(y), "click", str(button)],
              environment=self._env.environment)

    def type(self, text):
        brief(["xdotool", "type", "--delay", "20", text], environment=self._env.environment)

    def press(self, key):
        self._env.screen.press(key)

    def give_pin(self, pin=PIN, agree="Continue"):
        """Types the PIN into the sheet that asks for it."""
        sheet = self.sheet()
        self.until_named(agree, "button", process=sheet)
        self.type(pin)
        self.tap(agree, "button", process=sheet)

    def load(self, seconds):
        """Returns the part of a core that the app uses while it runs undisturbed."""
        def used():
            fields = Path(f"/proc/{self.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

        before = used()
        time.sleep(seconds)  # No state to wait for: this is the measurement.
        return (used() - before) / seconds

    def wakeups(self, seconds):
        """Returns how many times threads of the app wake up while nothing happens; those that end meanwhile do not count."""
        def switches():
            found = {}
            for path in Path(f"/proc/{self.pid}/task").glob("*/status"):
                try:
                    text = path.read_text(encoding="utf-8")
                except OSError:  # The thread has just ended.
                    continue
                found[path.parent.name] = int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", text, re.MULTILINE)[1])
            return found

        # The first look has nothing to compare with.
        before = None

        def rests():
            nonlocal before
            last, before = before, switches()
            return last == before

        # After drawing, GTK looks at its caches every 15 s, for a minute.
        self._env.waiting.until("the app to rest", rests, 4 * LIMIT, pause=20)
        time.sleep(seconds)  # No state to wait for: this is the measurement.
        return sum(count - before.get(thread, 0) for thread, count in switches().items())

    def picture(self, suffix=""):
        if self._env.pictures:
            self._env.screen.picture(self._env.pictures / f"{self._name}{suffix}.png")
