# SPDX-License-Identifier: Apache-2.0
"""Tests the page of `hybrid-client show-qr --open` in a real Chromium and takes a picture of each stage.

See ../README.md; scripts/acceptance starts this program with its dependencies. Most modules are those of ../chromium.
"""
import argparse
import os
import shutil
import sys
import tempfile
import textwrap
import traceback
from pathlib import Path
from types import SimpleNamespace

from desk import Desk
from folders import RunFolder
from scenarios import SCENARIOS
from waiting import Failed, Interrupted, Signals

REPOSITORY = Path(__file__).resolve().parents[3]
TOOLS = ("setpriv", "bash", "chromium", "Xvfb", "openbox", "xdotool", "import", "zbarimg", "openssl", "dbus-daemon",
         "dbus-monitor")
USAGE, UNAVAILABLE = 64, 69


class Arguments(argparse.ArgumentParser):
    def error(self, message):
        print(f"acceptance page: {message}", file=sys.stderr)
        sys.exit(USAGE)


def arguments():
    parser = Arguments(prog="acceptance page", description=__doc__.splitlines()[0])
    parser.add_argument("--scenarios", type=_scenarios, default=tuple(SCENARIOS), metavar="A,B",
                        help=f"scenarios, of {', '.join(SCENARIOS)}; those after whole-ceremony need its passkey")
    parser.add_argument("--keep", action="store_true", help="keep pictures and logs even if everything passed")
    parser.add_argument("--bin-dir", type=Path, metavar="DIR",
                        help="folder of our programs; default $HYBRID_BIN, else .build/debug of this repository")
    return parser.parse_args()


def _scenarios(text):
    names = tuple(text.split(","))
    for name in names:
        if name not in SCENARIOS:
            raise argparse.ArgumentTypeError(f"there is no scenario {name!r}; the scenarios are {', '.join(SCENARIOS)}")
    return names


def unavailable(sentence):
    print(f"acceptance page: {sentence}", file=sys.stderr)
    sys.exit(UNAVAILABLE)


def our_programs(folder):
    folder = Path(folder or os.environ.get("HYBRID_BIN") or REPOSITORY / ".build" / "debug").resolve()
    programs = {name: folder / f"hybrid-{name}" for name in ("client", "relay", "auth", "lab")}
    missing = [path.name for path in programs.values() if not os.access(path, os.X_OK)]
    if missing:
        unavailable(f"{', '.join(missing)} not in {folder}; build with 'swift build', or set --bin-dir")
    return SimpleNamespace(**programs)


def perform(desk, name):
    """Returns the errors of a scenario, including Chromium's complaints about our page."""
    complaints, note = [], None
    try:
        note = SCENARIOS[name](desk)
    except Failed as error:
        complaints.append(str(error))
    except Interrupted:
        raise
    except Exception:  # An error of this program leaves evidence, too.
        complaints.append(traceback.format_exc())
    complaints += [f"Chromium reports: {text}" for text in desk.window.complaints()]
    if complaints:
        desk.screen.picture(desk.folder.path(f"failure-{name}.png"))
    print(f"  {'FAILED' if complaints else 'passed'}  {name}{f': {note}' if note else ''}", flush=True)
    for complaint in complaints:
        print(textwrap.indent(complaint, "    "), flush=True)
    return not complaints


def main():
    options = arguments()
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        unavailable(f"not installed: {', '.join(missing)}; scripts/prepare run chromium installs what is needed")
    programs = our_programs(options.bin_dir)
    signals = Signals()
    folder = RunFolder(Path(tempfile.mkdtemp(prefix="hybrid-page-")) / "run")
    passed, interrupted, left = 0, None, []
    try:
        with Desk(programs, folder, signals) as desk:
            print(f"  {desk.window.version}", flush=True)
            passed = sum([perform(desk, name) for name in options.scenarios])
        left = desk.complaints
    except Failed as error:
        left = [str(error)]
    except Interrupted as error:
        interrupted = error
    for complaint in left:
        print(f"  at the end: {complaint}")
    folder.remove_sockets()
    failed = len(options.scenarios) - passed + bool(left)
    if failed or options.keep:
        folder.remove_scratch()
        print(f"pictures and logs: {folder.root}")
    else:
        shutil.rmtree(folder.root.parent, ignore_errors=True)
    if interrupted:
        return 128 + interrupted.number
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
