# SPDX-License-Identifier: Apache-2.0
"""A virtual screen: Xvfb and a window manager, pictures of it, and keys."""
import os
import time

from harness.programs import Program, brief


class Screen:
    """Chromium's dialogs get keys only if a window manager gives them the focus; hence openbox.

    `manager` is false for the screen of a compositor, which manages the windows in its own one.
    """

    def __init__(self, folder, waiting, size="1280x1000", manager=True):
        self._folder = folder
        self._waiting = waiting
        reader, writer = os.pipe()
        try:
            self._server = Program(
                "Xvfb", ["Xvfb", "-displayfd", writer, "-screen", "0", f"{size}x24", "-nolisten", "tcp", "-noreset"],
                log=folder.path("xvfb.log"), environment=folder.environment(), pass_fds=(writer,))
        finally:
            os.close(writer)
        self._manager = None
        os.set_blocking(reader, False)
        try:
            waiting.watch(self._server)
            said = bytearray()
            number = waiting.until("Xvfb to print the number of its display", lambda: self._line(reader, said), 60)
            self.environment = folder.environment(DISPLAY=f":{number}")
            if not manager:
                return
            self._manager = Program("openbox", ["openbox", "--sm-disable"], log=folder.path("openbox.log"),
                                    environment=self.environment)
            waiting.watch(self._manager)
            waiting.until("openbox to manage the screen", self._is_managed, 60)
        except BaseException:
            self.stop()
            raise
        finally:
            os.close(reader)

    @staticmethod
    def _line(reader, said):
        try:
            said += os.read(reader, 32)
        except BlockingIOError:
            pass
        return said.decode().strip() if said.endswith(b"\n") else None

    def _is_managed(self):
        # Only a window manager sets this property.
        return brief(["xdotool", "get_num_desktops"], environment=self.environment, check=False).returncode == 0

    def picture(self, path):
        brief(["import", "-silent", "-window", "root", str(path)], environment=self.environment)

    def code(self, path):
        """Takes a picture and returns the text of the code in it, for a sign-in or a transfer, or None."""
        self.picture(path)
        read = brief(["zbarimg", "--quiet", "--raw", "-Sdisable", "-Sqrcode.enable", str(path)],
                     environment=self.environment, check=False)
        return next((line for line in read.stdout.splitlines() if line.upper().startswith(("FIDO:/", "HYBRID:/"))), None)

    def press(self, key):
        brief(["xdotool", "key", key], environment=self.environment)

    def press_until(self, key, what, look, seconds, pause=0.7):
        """Presses a key until a state is reached: Chromium ignores keys for half a second after a sheet appears."""
        pressed = 0.0

        def look_or_press():
            nonlocal pressed
            seen = look()
            if not seen and time.monotonic() - pressed > pause:
                self.press(key)
                pressed = time.monotonic()
            return seen

        return self._waiting.until(what, look_or_press, seconds)

    def stop(self):
        complaints = self._manager.stop() if self._manager else []
        return complaints + self._server.stop()
