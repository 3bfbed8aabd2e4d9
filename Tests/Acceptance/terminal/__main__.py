# SPDX-License-Identifier: Apache-2.0
"""Shows the code in a real terminal emulator, takes a picture of its window and reads it with zbar.

See ../README.md; scripts/acceptance starts this program with its dependencies.
"""
import json
import re
import shlex
import shutil
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from harness.command import Arguments, names_of
from harness.environment import TestEnvironment
from harness.folders import RunFolder
from harness.programs import Program
from harness.radio import VirtualRadio
from harness.screen import Screen
from harness.waiting import Failed, Interrupted, Signals, Waiting

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
        """Returns the errors of a case, as sentences."""
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
            return self._look(name, case, terminal, said)
        finally:
            complaints = terminal.stop()
        return complaints

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
            return ["expected no code, as it does not fit; found one"] if set("▀▄") & set(written()) else []
        code = self.waiting.until("a picture of the terminal with a code that zbar can read",
                                  lambda: self.screen.code(picture), 60)
        return [] if CODE.fullmatch(code) else [f"expected a sign-in code; zbar read {code!r}"]


def main():
    options, programs = arguments()
    signals = Signals()
    folder = RunFolder(Path(tempfile.mkdtemp(prefix="hybrid-terminal-")) / "run")
    failed, interrupted = 0, None
    try:
        with TerminalEnvironment(programs, folder, signals) as env:
            for name in options.cases:
                try:
                    complaints = env.perform(name, CASES[name])
                except Failed as error:
                    complaints = [str(error)]
                failed += bool(complaints)
                print(f"  {'FAILED' if complaints else 'passed'}  {name}", *complaints, sep="\n    ", flush=True)
        if env.complaints:
            failed += 1
            print(*env.complaints, sep="\n")
    except Failed as error:
        failed += 1
        print(error)
    except Interrupted as error:
        interrupted = error
    folder.remove_sockets()
    if failed or options.keep:
        print(f"pictures and recordings: {folder.root}")
    else:
        shutil.rmtree(folder.root.parent, ignore_errors=True)
    if interrupted:
        return 128 + interrupted.number
    print(f"{len(options.cases) - min(failed, len(options.cases))} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
