# SPDX-License-Identifier: Apache-2.0
"""Takes the pictures of README and docs of the real programs: code in a terminal, on a page, in a window, the question of
another computer, doctor; and records the demo.

Screen, folders and waiting are those of ../chromium; radio and relay are `hybrid-lab run`.
"""
import argparse
import json
import os
import shlex
import shutil
import sys
import tempfile
from pathlib import Path

from harness.folders import RunFolder
from harness.programs import Program, brief
from harness.screen import Screen
from harness.waiting import Failed, Interrupted, Signals, Waiting
from prompt.cases import DIGITS, LOGIN, RECEIVE, SCAN
from prompt.environment import PromptEnvironment
from recording import record, svg

REPOSITORY = Path(__file__).resolve().parents[3]
WINDOW_TOOLS = ("setpriv", "Xvfb", "openbox", "xdotool", "import", "convert", "zbarimg", "dbus-run-session")
TOOLS = (*WINDOW_TOOLS, "xterm", "chromium", "dbus-daemon")
UNAVAILABLE = 69
REQUEST = {"publicKey": {"challenge": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "rpId": "example.com"}}
ORIGIN = "https://example.com"
# A website in a browser on another computer.
REMOTE = {"event": "request", "operation": "remote-sign-in", "rp_id": "shop.example", "hosts": ["server.example"],
          "permanent": True, "timeout_ms": 100000}
# The shell reads certificates and address override from the lab's variables.
ROUTE = '--cacert "$HYBRID_LAB_CACERT" --connect-to "$HYBRID_LAB_CONNECT_TO"'


class Studio:
    def __init__(self, programs, folder, signals):
        self._programs, self._folder, self._waiting = programs, folder, Waiting(signals)
        self.screen = Screen(folder, self._waiting)
        (folder.scratch / "request.json").write_text(json.dumps(REQUEST), encoding="ascii")
        names = {name.name for name in programs.iterdir() if name.name.startswith("hybrid-")}
        bin_folder = folder.scratch / "bin"
        bin_folder.mkdir()
        for name in names:
            (bin_folder / name).symlink_to(programs / name)
        self._environment = {**self.screen.environment, "PATH": f"{bin_folder}:{os.environ['PATH']}"}

    def terminal(self, picture, command, size, until, lines=""):
        """Takes a picture of a terminal with a command, once its output contains `until`."""
        said = self._folder.path(picture + ".said")
        script = self._folder.scratch / f"{picture}.sh"
        shown = command.replace(ROUTE, "").replace("  ", " ").strip()
        script.write_text(f"cd {shlex.quote(str(self._folder.scratch))}\nprintf '$ %s\\n' "
                          f"{shlex.quote(shown)}\n{command}\n{lines}sleep 600\n")
        terminal = Program(
            "xterm", ["xterm", "-fa", "DejaVu Sans Mono", "-fs", "11", "-fg", "#e0e0e0", "-bg", "#16181d", "-b", "12", "-geometry",
                      f"{size}+40+40", "-T", picture, "-e", "script", "-qfec",
                      f"hybrid-lab run -- bash {shlex.quote(str(script))}", said],
            log=self._folder.path(picture + ".log"), environment=self._environment)
        try:
            def is_said():
                if terminal.status is not None:
                    raise Failed(f"xterm {terminal.ending}: {terminal.said().strip()}")
                return said.exists() and until in said.read_text(encoding="utf-8", errors="replace")

            self._waiting.until(f"{picture} to print {until!r}", is_said, 60)
            return self._take("--name", picture)
        finally:
            terminal.stop()

    def page(self):
        """Takes a picture of the page that `show-qr --open` opens."""
        browser = self._folder.scratch / "browser"
        sandbox = "--no-sandbox" if os.geteuid() == 0 else ""
        browser.write_text(
            f"#!/bin/sh\nexec chromium {sandbox} --user-data-dir={self._folder.scratch}/profile --no-first-run "
            "--disable-gpu "
            '--password-store=basic --lang=en-US --test-type --window-size=720,900 --app="$1"\n')
        browser.chmod(0o700)
        command = f"hybrid-client show-qr --request request.json --origin {ORIGIN} --open {ROUTE}"
        script = self._folder.scratch / "page.sh"
        script.write_text(f"cd {shlex.quote(str(self._folder.scratch))}\n{command}\n")
        program = Program("hybrid-lab", ["hybrid-lab", "run", "--", "bash", script], log=self._folder.path("page.log"),
                          environment={**self._environment, "BROWSER": str(browser)})
        try:
            code = self._folder.path("page-code.png")
            self._waiting.until("Chromium to show the page's code", lambda: self.screen.code(code), 60)
            return self._take("--class", "chromium")
        finally:
            program.stop()

    def _take(self, kind, name):
        """Returns a picture of the window, once two successive ones are equal."""
        window = brief(["xdotool", "search", "--onlyvisible", kind, name], environment=self._environment).stdout.split()[-1]
        looks = []

        def is_calm():
            path = self._folder.path(f"{name}-{len(looks)}.png")
            brief(["import", "-silent", "-window", window, str(path)], environment=self._environment)
            looks.append(path)
            return len(looks) > 1 and self._same(*looks[-2:])

        self._waiting.until("a window that does not change", is_calm, 20)
        return looks[-1]

    def _same(self, one, other):
        done = brief(["compare", "-metric", "AE", str(one), str(other), "null:"], environment=self._environment, check=False)
        return done.returncode == 0

    def stop(self):
        return self.screen.stop()


def window(program, folder, signals):
    """Takes pictures of the window: with a light and a dark theme; a question and the code after it; a transfer."""
    taken = []
    with PromptEnvironment(program, None, folder, signals) as env:
        def take(prompt, name):
            taken.append(folder.path(f"{name}-window.png"))
            prompt.picture(taken[-1])

        for theme in ("light", "dark"):
            with env.open(theme, theme=theme) as prompt:
                prompt.send(LOGIN, *SCAN)
                prompt.code()
                take(prompt, theme)
        with env.open("remote") as prompt:
            prompt.send(REMOTE, {"event": "state", "state": "use-phone"})
            prompt.until_named("push button", "Continue")
            take(prompt, "question")
            prompt.send(*SCAN)
            prompt.code()
            take(prompt, "code")
        with env.open("nearby") as prompt:
            prompt.send(*RECEIVE)
            prompt.code()
            take(prompt, "transfer")
            prompt.send(DIGITS)
            prompt.until_named("status bar", "042 117")
            take(prompt, "digits")
    all_three = {name: folder.path(f"{name}.png") for name in ("prompt", "remote", "nearby")}
    for path, pictures in zip(all_three.values(), (taken[:2], taken[2:4], taken[4:])):
        brief(["convert", *map(str, pictures), "-background", "white", "-gravity", "center", "+append", str(path)],
              environment=folder.environment())
    return all_three


def others(programs, folder, signals):
    """Takes the pictures that need the programs of the main package."""
    studio = Studio(programs, folder, signals)
    try:
        show = f"hybrid-client show-qr --request request.json --origin {ORIGIN} {ROUTE}"
        return {
            "code": studio.terminal("code", show, "80x27", "scan the code with your phone"),
            "doctor": studio.terminal("doctor", f"hybrid-client doctor --relay 266 {ROUTE}", "118x19", "could work"),
            "page": studio.page(),
        }
    finally:
        studio.stop()


def main():
    parser = argparse.ArgumentParser(prog="pictures", description=__doc__.splitlines()[0])
    parser.error = lambda message: parser.exit(64, f"{parser.prog}: {message}\n")
    parser.add_argument("--bin-dir", type=Path, default=REPOSITORY / ".build" / "debug", metavar="DIR")
    parser.add_argument("--prompt", type=Path, metavar="FILE",
                        default=REPOSITORY / "Desktop" / ".build" / "debug" / "hybrid-prompt")
    parser.add_argument("--only", choices=("prompt", "demo"), help="takes the pictures of the window alone, or of the demo")
    parser.add_argument("--out", type=Path, default=REPOSITORY / "docs" / "pictures", metavar="DIR")
    options = parser.parse_args()
    missing = [tool for tool in (WINDOW_TOOLS if options.only else TOOLS) if shutil.which(tool) is None]
    if missing:
        print(f"pictures: not installed: {', '.join(missing)}", file=sys.stderr)
        return UNAVAILABLE
    options.out.mkdir(parents=True, exist_ok=True)
    if options.only != "prompt":
        recording = options.out / "demo.svg"
        lines = record([options.bin_dir.resolve() / "hybrid-lab", "demo"], dict(os.environ))
        title = "A registration and a sign-in with a phone, step by step"
        recording.write_text(svg(title, "hybrid-lab demo", lines), encoding="utf-8")
        print(f"{recording}: {recording.stat().st_size} bytes")
    if options.only == "demo":
        return 0
    folder = RunFolder(Path(tempfile.mkdtemp(prefix="hybrid-pictures-")) / "run")
    signals = Signals()
    windows = RunFolder(folder.root.parent / "windows")
    try:
        taken = window(options.prompt.resolve(), windows, signals)
        if options.only != "prompt":
            taken |= others(options.bin_dir.resolve(), folder, signals)
        for name, path in taken.items():
            # Few colors keep the files small.
            brief(["convert", str(path), "-strip", "+dither", "-colors", "64", "-define", "png:compression-level=9",
                   f"PNG8:{options.out / name}.png"], environment=folder.environment())
            print(f"{options.out / name}.png: {(options.out / (name + '.png')).stat().st_size} bytes")
    except (Failed, Interrupted) as error:
        print(f"pictures: {error}\nevidence: {folder.root}", file=sys.stderr)
        return 1
    finally:
        folder.remove_sockets()
        windows.remove_sockets()
    shutil.rmtree(folder.root.parent, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
