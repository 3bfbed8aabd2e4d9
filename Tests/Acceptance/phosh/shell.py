# SPDX-License-Identifier: Apache-2.0
"""A phone's desktop: the compositor phoc in a window of a virtual screen, and Phosh in it."""
from jeepney import DBusAddress, new_method_call
from jeepney.bus_messages import message_bus
from jeepney.io.blocking import open_dbus_connection

from harness.programs import Program, brief, session_members
from harness.waiting import Failed

# Pixels of the screen for each pixel of a window.
SCALE = 2
WIDTH, HEIGHT = 360, 720
# Heights of the bars at the top and at the bottom of the screen.
TOP, BOTTOM = 32, 15
LIMIT = 60
CONFIGURATION = f"""\
[core]
xwayland=false
[output:X11-1]
mode={WIDTH * SCALE}x{HEIGHT * SCALE}
scale={SCALE}
"""
# The names that Phosh has on the session bus once it can show something.
NAMES = ("org.freedesktop.Notifications", "org.gnome.ScreenSaver", "org.gnome.keyring.SystemPrompter")
SAVER = DBusAddress("/org/gnome/ScreenSaver", bus_name="org.gnome.ScreenSaver", interface="org.gnome.ScreenSaver")
DISPLAY = "wayland-0"


class Phosh:
    """Phosh, unlocked at first."""

    def __init__(self, folder, waiting, bus, reader, environment):
        self._waiting, self._bus, self._reader = waiting, bus, reader
        self._environment = environment
        configuration = folder.scratch / "phoc.ini"
        configuration.write_text(CONFIGURATION, encoding="ascii")
        self._program = Program(
            "phoc", ["phoc", "-C", configuration, "-E", "/usr/libexec/phosh -U"], log=folder.path("phosh.log"),
            environment={**environment, "WLR_BACKENDS": "x11", "WLR_RENDERER": "pixman"})
        try:
            waiting.watch(self._program)
            waiting.until("Phosh to be on the session bus", self._is_ready, 120, pause=0.2)
        except BaseException:
            self.stop()
            raise

    def _is_ready(self):
        with open_dbus_connection(bus=self._bus.address) as bus:
            return all(bus.send_and_get_reply(message_bus.NameHasOwner(name)).body[0] for name in NAMES)

    @property
    def pid(self):
        return next((process for process, name in session_members(self._program.pid).items() if name == "phosh"), None)

    def elements(self):
        """Returns what a screen reader knows about the shell itself."""
        return self._reader.elements_of(self.pid, "showing")

    def tap(self, x, y):
        """Taps a point of the screen, in pixels of windows."""
        left, top = round(x * SCALE), round(y * SCALE)
        # The pointer comes from elsewhere, as a finger does: GTK gives a click to the widget that was there at the last motion.
        brief(["xdotool", "mousemove", str(left - SCALE), str(top), "mousemove", str(left), str(top), "click", "1"],
              environment=self._environment)

    def find(self, name, *roles):
        """Returns the place on the screen of an element of the shell that is shown now; None if there is none."""
        top, found = 0, None
        for role, its, states, (left, above, width, height) in self.elements():
            if role == "frame":
                # A surface that does not fill the screen is below the bar.
                top = 0 if height == HEIGHT else TOP
            # Elements that are not on the screen have no place.
            if its == name and role in roles and "insensitive" not in states and left >= 0 and 0 <= top + above < HEIGHT:
                found = (left, top + above, width, height)
        return found

    def until_shown(self, name, *roles):
        """Waits for an element of the shell; returns its place on the screen."""
        try:
            return self._waiting.until(f"Phosh to show {name!r}", lambda: self.find(name, *roles), LIMIT, pause=0.1)
        except Failed as error:
            raise Failed(f"{error}; found {[one for one in self.elements() if one[1] and one[3][0] >= 0]}") from None

    def tap_on(self, name, *roles):
        """Taps an element of the shell once it is shown and rests."""
        place = None

        def rests():
            nonlocal place
            before, place = place, self.until_shown(name, *roles)
            return place == before

        self._waiting.until(f"{name!r} to rest", rests, LIMIT, pause=0.1)
        left, top, width, height = place
        self.tap(left + width / 2, top + height / 2)

    def open_notifications(self):
        """Taps the bar, below which the notifications appear."""
        self.tap(WIDTH / 2, TOP / 2)
        self.until_shown("Clear all", "button")

    def _ask(self, member, *arguments):
        with open_dbus_connection(bus=self._bus.address) as bus:
            reply = bus.send_and_get_reply(new_method_call(SAVER, member, *arguments), timeout=60)
        return reply.body[0] if reply.body else None

    def lock(self):
        """Locks the screen, and lights it again, as two presses of its button do."""
        self._ask("Lock")
        self._waiting.until("the screen to be off", lambda: self._ask("GetActive"), 60)
        self._ask("SetActive", "b", (False,))
        self._waiting.until("the screen to be on", lambda: not self._ask("GetActive"), 60)

    @property
    def is_locked(self):
        # The seconds since the lock are 0 in the first one, when the screen is off.
        return bool(self._ask("GetActiveTime") or self._ask("GetActive"))

    def stop(self):
        return self._program.stop()
