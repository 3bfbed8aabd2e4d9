# SPDX-License-Identifier: Apache-2.0
"""Uses the app for phones in a real Phosh: taps, notifications, and the sheet.

See ../README.md; scripts/acceptance starts this program with its dependencies.
"""
import os
import sys
from pathlib import Path

from cases import CASES
from environment import PhoshEnvironment
from harness.command import REPOSITORY, Arguments, names_of
from harness.suite import run_suite

TOOLS = ("setpriv", "openssl", "dbus-run-session", "dbus-monitor", "Xvfb", "xdotool", "import", "convert",
         "pipewire", "wireplumber", "pw-cli", "cc", "pkg-config", "gapplication", "phoc")
BUILD = REPOSITORY / "Desktop" / ".build" / "debug"


def arguments():
    parser = Arguments("acceptance phosh", __doc__.splitlines()[0])
    parser.add_argument("--desktop-dir", type=lambda path: Path(path).resolve(), default=BUILD, metavar="DIR",
                        help="folder of hybrid-passkeys and hybrid-ask; default Desktop/.build/debug")
    parser.add_argument("--pictures", type=lambda path: Path(path).resolve(), metavar="DIR",
                        help="keep a picture of each case's screens in this folder")
    parser.add_argument("--cases", type=names_of("case", CASES), default=tuple(CASES), metavar="A,B",
                        help=f"cases, of {', '.join(CASES)}; default all, in this order")
    options = parser.parse_args()
    if not os.access("/usr/libexec/phosh", os.X_OK):
        parser.unavailable("not installed: phosh; scripts/check-phone --phosh runs this suite in a Debian that has it")
    parser.require(TOOLS, "run phone phosh")
    for name in ("hybrid-passkeys", "hybrid-ask"):
        if not os.access(options.desktop_dir / name, os.X_OK):
            parser.unavailable(f"no {name} in {options.desktop_dir}; build it on Debian 13 with "
                               "'swift build --package-path Desktop', or set --desktop-dir")
    if os.geteuid() != 0 or Path("/run/systemd/system").exists():
        parser.unavailable("the simulated logind needs root, and a system that systemd has not booted; "
                           "use scripts/check-phone --phosh")
    return options, parser.programs(options.bin_dir, "client", "auth", "relay", "lab")


def main():
    options, programs = arguments()
    programs.app, programs.ask = (options.desktop_dir / name for name in ("hybrid-passkeys", "hybrid-ask"))
    if options.pictures:
        options.pictures.mkdir(parents=True, exist_ok=True)
    return run_suite("phosh", {name: lambda env, name=name: CASES[name](env, name) for name in options.cases},
                     lambda folder, signals: PhoshEnvironment(programs, options.pictures, folder, signals),
                     keep=options.keep, evidence="pictures and output")


if __name__ == "__main__":
    sys.exit(main())
