# SPDX-License-Identifier: Apache-2.0
"""`hybrid-lab shiny --browser` on a screen of its own, operated with the keyboard only."""
import time

from harness.programs import Program, brief
from harness.screen import Screen
from harness.waiting import Failed, Waiting, must

# The skip link, two buttons for a sign-in and its two fields, then "Use a passkey"; next is the name of a new account.
TABS = 7


def demo(env):
    """Chromium opens the site; each code is answered by hybrid-auth, which asks with pinentry."""
    waiting = Waiting(env.signals)
    screen = Screen(env.folder, waiting)
    program = None
    try:
        program = Program(
            "hybrid-lab shiny --browser",
            [env.programs.lab, "shiny", "--browser", "--program", env.programs.site, "--pinentry", env.pinentry],
            log=env.folder.path("demo.log"), environment={**env.person_environment(), **screen.environment})
        window = Window(env, screen, waiting, program)
        window.until_titled("Sign in – Shiny")
        window.keys(*["Tab"] * TABS)
        window.type("eve")
        window.submit_until_code()
        window.until_titled("Your account – Shiny")
        screen.picture(env.pictures / "demo.png")
        window.keys("ctrl+w")
        waiting.until("hybrid-lab shiny to end with its window", lambda: program.status is not None, 30)
        must(program.status == 0, f"hybrid-lab shiny {program.ending}: {program.said().strip()}")
    finally:
        if program:
            if program.status is None:
                screen.picture(env.folder.path("failure-demo-screen.png"))
            env.complaints += program.stop()
        env.complaints += screen.stop()
    return "by hybrid, keyboard only"


class Window:
    """Chromium's window, of which only title and picture are known."""

    def __init__(self, env, screen, waiting, program):
        self._env, self._screen, self._waiting, self._program = env, screen, waiting, program

    def keys(self, *names):
        brief(["xdotool", "key", *names], environment=self._screen.environment)

    def type(self, text):
        brief(["xdotool", "type", text], environment=self._screen.environment)

    def is_titled(self, title):
        if self._program.status is not None:
            raise Failed(f"hybrid-lab shiny {self._program.ending}: {self._program.said().strip()}")
        return brief(["xdotool", "search", "--name", f"^{title}"], environment=self._screen.environment,
                     check=False).stdout.strip()

    def until_titled(self, title):
        self._waiting.until(f"a window with the title {title}", lambda: self.is_titled(title), 60, pause=0.1)

    def submit_until_code(self):
        """Submits the form; repeats that if Chromium, which is new, has not found the radio and asks for a key."""
        submitted = 0.0

        def look():
            nonlocal submitted
            if self._screen.code(self._env.folder.path("demo-code.png")) or self.is_titled("Your account"):
                return True
            if time.monotonic() - submitted > 8:
                self.keys("Escape", "Return")
                submitted = time.monotonic()
            return False

        self._waiting.until("Chromium to show a code", look, 60, pause=0.1)
