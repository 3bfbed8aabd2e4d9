# SPDX-License-Identifier: Apache-2.0
"""Logs in with a real ssh to a real sshd, and signs with a real git, with a key on the phone.

See ../README.md; scripts/acceptance starts this program with its dependencies.
"""
import shutil
import sys
import tempfile
import textwrap
import traceback
from pathlib import Path

from cases import CASES
from environment import SSHEnvironment
from harness.command import Arguments, names_of
from harness.folders import RunFolder
from harness.programs import brief
from harness.waiting import Failed, Interrupted, Signals

TOOLS = ("setpriv", "ssh", "/usr/sbin/sshd", "ssh-add", "ssh-keygen", "scp", "git", "openssl", "dbus-daemon",
         "dbus-monitor")


def arguments():
    parser = Arguments("acceptance ssh", __doc__.splitlines()[0])
    parser.add_argument("--cases", type=names_of("case", CASES), default=tuple(CASES), metavar="A,B",
                        help=f"cases, of {', '.join(CASES)}; all others need the key of keygen")
    options = parser.parse_args()
    parser.require(TOOLS, "run ssh")
    return options, parser.programs(options.bin_dir, "key", "relay", "auth", "lab")


def perform(env, name):
    """Returns true if a case passed; prints its line."""
    complaints, note = [], None
    try:
        note = CASES[name](env)
    except Failed as error:
        complaints.append(str(error))
    except Interrupted:
        raise
    except Exception:  # An error of this program leaves evidence, too.
        complaints.append(traceback.format_exc())
    print(f"  {'FAILED' if complaints else 'passed'}  {name}{f': {note}' if note else ''}", flush=True)
    for complaint in complaints:
        print(textwrap.indent(complaint, "    "), flush=True)
    return not complaints


def main():
    options, programs = arguments()
    signals = Signals()
    folder = RunFolder(Path(tempfile.mkdtemp(prefix="hybrid-ssh-")) / "run")
    passed, interrupted, left = 0, None, []
    try:
        with SSHEnvironment(programs, folder, signals) as env:
            print(f"  {brief(['ssh', '-V'], environment=folder.environment()).stderr.strip()}", flush=True)
            passed = sum([perform(env, name) for name in options.cases])
        left = env.complaints
    except Failed as error:
        left = [str(error)]
    except Interrupted as error:
        interrupted = error
    for complaint in left:
        print(f"  at the end: {complaint}")
    folder.remove_sockets()
    failed = len(options.cases) - passed + bool(left)
    if failed or options.keep:
        folder.remove_scratch()
        print(f"logs: {folder.root}")
    else:
        shutil.rmtree(folder.root.parent, ignore_errors=True)
    if interrupted:
        return 128 + interrupted.number
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
