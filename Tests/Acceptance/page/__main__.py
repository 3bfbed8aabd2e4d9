# SPDX-License-Identifier: Apache-2.0
"""Tests the page of `hybrid-client show-qr --open` in a real Chromium and takes a picture of each stage.

See ../README.md; scripts/acceptance starts this program with its dependencies.
"""
import shutil
import sys
import tempfile
import textwrap
import traceback
from pathlib import Path

from environment import PageEnvironment
from harness.command import Arguments, names_of
from harness.folders import RunFolder
from harness.waiting import Failed, Interrupted, Signals
from scenarios import SCENARIOS

TOOLS = ("setpriv", "bash", "chromium", "Xvfb", "openbox", "xdotool", "import", "zbarimg", "openssl", "dbus-daemon",
         "dbus-monitor")


def arguments():
    parser = Arguments("acceptance page", __doc__.splitlines()[0])
    parser.add_argument("--scenarios", type=names_of("scenario", SCENARIOS), default=tuple(SCENARIOS), metavar="A,B",
                        help=f"scenarios, of {', '.join(SCENARIOS)}; those after whole-ceremony need its passkey")
    options = parser.parse_args()
    parser.require(TOOLS, "run chromium")
    return options, parser.programs(options.bin_dir, "client", "relay", "auth", "lab")


def perform(env, name):
    """Returns the errors of a scenario, including Chromium's complaints about our page."""
    complaints, note = [], None
    try:
        note = SCENARIOS[name](env)
    except Failed as error:
        complaints.append(str(error))
    except Interrupted:
        raise
    except Exception:  # An error of this program leaves evidence, too.
        complaints.append(traceback.format_exc())
    complaints += [f"Chromium reports: {text}" for text in env.window.complaints()]
    if complaints:
        env.screen.picture(env.folder.path(f"failure-{name}.png"))
    print(f"  {'FAILED' if complaints else 'passed'}  {name}{f': {note}' if note else ''}", flush=True)
    for complaint in complaints:
        print(textwrap.indent(complaint, "    "), flush=True)
    return not complaints


def main():
    options, programs = arguments()
    signals = Signals()
    folder = RunFolder(Path(tempfile.mkdtemp(prefix="hybrid-page-")) / "run")
    passed, interrupted, left = 0, None, []
    try:
        with PageEnvironment(programs, folder, signals) as env:
            print(f"  {env.window.version}", flush=True)
            passed = sum([perform(env, name) for name in options.scenarios])
        left = env.complaints
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
