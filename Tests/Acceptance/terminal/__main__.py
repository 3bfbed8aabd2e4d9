# SPDX-License-Identifier: Apache-2.0
"""Shows the code in a real terminal emulator, takes a picture of its window and reads it with zbar.

See ../README.md; scripts/acceptance starts this program with its dependencies.
"""
import json
import re
import shlex
import sys
from dataclasses import dataclass, field

from harness.command import Arguments, names_of
from harness.environment import TestEnvironment
from harness.programs import Program
from harness.radio import VirtualRadio
from harness.screen import Screen
from harness.suite import run_suite
from harness.waiting import Failed, Waiting

TOOLS = ("setpriv", "xterm", "script", "Xvfb", "openbox", "xdotool", "import", "zbarimg", "dbus-daemon", "dbus-monitor")
REQUEST = {"publicKey": {"challenge": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "rpId": "example.com"}}
CODE = re.compile(r"FIDO:/\d{100,}")

DARK, LIGHT = ("gray85", "black"), ("black", "white")
FONT = "DejaVu Sans Mono"


@dataclass(frozen=True)
class Case:
    """A terminal, which shows the code, or the sentence if there is one."""
    colours: tuple
    size: str = "80x24"
    points: int = 11
    environment: dict = field(default_factory=dict)
    sentence: str | None = None


# Variables that some terminals set: no colors, or text and background color as numbers.
NO_COLOUR = {"NO_COLOR": "1"}
CASES = {
    "dark": Case(DARK),
    "light": Case(LIGHT),
    "solarized": Case(("#839496", "#002b36")),
    "dark-small-font": Case(DARK, points=7),
    "light-large-font": Case(LIGHT, points=16),
    "dark-no-colour": Case(DARK, environment=NO_COLOUR),
    "light-no-colour": Case(LIGHT, environment={**NO_COLOUR, "COLORFGBG": "0;15"}),
    "dark-smallest": Case(DARK, size="41x22"),
    "light-smallest": Case(LIGHT, size="41x22"),
    "large": Case(DARK, size="120x40"),
    "too-narrow": Case(DARK, size="40x24", sentence="the code needs a terminal of 41 × 22 characters and this one has "
                                                    "40 × 24"),
    "too-low": Case(LIGHT, size="80x21", sentence="the code needs a terminal of 41 × 22 characters and this one has "
                                                  "80 × 21"),
}


def arguments():
    parser = Arguments("acceptance terminal", __doc__.splitlines()[0])
    parser.add_argument("--cases", type=names_of("case", CASES), default=tuple(CASES), metavar="A,B",
                        help=f"cases, of {', '.join(CASES)}")
    options = parser.parse_args()
    parser.require(TOOLS, "run terminal")
    return options, parser.programs(options.bin_dir, "client", "lab")


class TerminalEnvironment(TestEnvironment):
    """Radio and screen for all cases."""

    def __init__(self, programs, folder, signals):
        super().__init__()
        self.folder, self.waiting, self._programs = folder, Waiting(signals), programs
        self._request = folder.scratch / "request.json"
        self._request.write_text(json.dumps(REQUEST), encoding="ascii")

    def start(self):
        self.radio = self.keep(VirtualRadio(self._programs, self.folder, self.waiting))
        self.screen = self.keep(Screen(self.folder, self.waiting))

    def perform(self, name, case):
        """Performs a case."""
        said = self.folder.path(f"{name}.said")
        client = shlex.join(map(str, (self._programs.client, "show-qr", "--request", self._request, "--origin",
                                      "https://example.com", "--timeout", "300")))
        foreground, background = case.colours
        environment = {**self.screen.environment, "DBUS_SYSTEM_BUS_ADDRESS": self.radio.address}
        # Set inside xterm, which changes some variables for its child.
        variables = [f"{name}={value}" for name, value in case.environment.items()]
        # Between terminal and program, `script` records the output.
        terminal = Program(
            "xterm", ["xterm", "-fa", FONT, "-fs", case.points, "-fg", foreground, "-bg", background, "-geometry", f"{case.size}+40+40",
                      "-e", "env", *variables, "script", "-qfec", client, said],
            log=self.folder.path(f"{name}.log"), environment=environment)
        try:
            self._look(name, case, terminal, said)
        finally:
            self.complaints += terminal.stop()

    def _look(self, name, case, terminal, said):
        picture = self.folder.path(f"{name}.png")
        wanted = case.sentence or "scan the code with your phone"

        def written():
            return said.read_text(encoding="utf-8", errors="replace") if said.exists() else ""

        def is_said():
            if terminal.status is not None:
                raise Failed(f"xterm {terminal.ending}: {terminal.said().strip()}")
            # The terminal wraps long lines; the recording does not contain these breaks.
            return wanted in written()

        self.waiting.until(f"hybrid-client to print {wanted!r}", is_said, 60)
        if case.sentence:
            self.screen.picture(picture)
            if set("▀▄") & set(written()):
                raise Failed("expected no code, as it does not fit; found one")
            return
        code = self.waiting.until("a picture of the terminal with a code that zbar can read",
                                  lambda: self.screen.code(picture), 60)
        if not CODE.fullmatch(code):
            raise Failed(f"expected a sign-in code; zbar read {code!r}")


def main():
    options, programs = arguments()
    return run_suite("terminal", {name: lambda env, name=name: env.perform(name, CASES[name]) for name in options.cases},
                     lambda folder, signals: TerminalEnvironment(programs, folder, signals),
                     keep=options.keep, evidence="pictures and recordings")


if __name__ == "__main__":
    sys.exit(main())
