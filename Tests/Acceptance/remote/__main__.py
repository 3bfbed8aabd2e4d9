# SPDX-License-Identifier: Apache-2.0
"""Signs in on a host that only ssh reaches, with the phone next to this computer: by commands, and in a real Chromium.

See ../README.md; scripts/acceptance starts this program with its dependencies.
"""
import os
import sys
from pathlib import Path

from cases import ALL, CASES
from environment import RemoteEnvironment
from harness.command import Arguments, names_of
from harness.suite import run_suite
from installed import INSTALLED, InstalledEnvironment

TOOLS = ("setpriv", "unshare", "nsenter", "ip", "ssh", "/usr/sbin/sshd", "ssh-agent", "ssh-add", "ssh-keygen", "python3",
         "openssl", "dbus-daemon", "dbus-monitor", "chromium")
# Set in the network of this program, which has no route to any other computer.
INSIDE = "HYBRID_REMOTE_SUITE"


def arguments():
    parser = Arguments("acceptance remote", __doc__.splitlines()[0])
    parser.add_argument("--cases", type=names_of("case", {**ALL, **INSTALLED}), metavar="A,B",
                        help=f"cases, of {', '.join(ALL)}, by default all but latency; with --root, of "
                             f"{', '.join(INSTALLED)}")
    parser.add_argument("--openssh", type=lambda path: Path(path).resolve(), metavar="DIR",
                        help="another release of OpenSSH, in a folder of unpacked packages; see "
                             "Tests/Acceptance/README.md")
    parser.add_argument("--packages", type=lambda path: Path(path).resolve(), metavar="DIR",
                        help="folder with the package hybrid-remote, which is tested in --root; no other cases then")
    parser.add_argument("--root", type=lambda path: Path(path).resolve(), metavar="DIR",
                        help="a Debian with Chromium and sshd; see Tests/Acceptance/README.md")
    options = parser.parse_args()
    known, default = (INSTALLED, INSTALLED) if options.root else (ALL, CASES)
    options.cases = options.cases or tuple(default)
    if strange := [name for name in options.cases if name not in known]:
        parser.error(f"{', '.join(strange)}: {'not with' if options.root else 'only with'} --root")
    if bool(options.packages) != bool(options.root):
        parser.error("--packages and --root belong together")
    if options.openssh and not options.openssh.is_dir():
        parser.unavailable(f"no folder {options.openssh}; Tests/Acceptance/README.md describes how to make it")
    parser.require(TOOLS, "run chromium remote")
    if options.root:
        parser.require(("systemd-nspawn",), "package")
        if not list(options.packages.glob("hybrid-remote_*.deb")) or not options.root.is_dir():
            parser.unavailable("no package hybrid-remote or no root; Tests/Acceptance/README.md describes how to make them")
    if os.geteuid() != 0:
        parser.unavailable("run it as root, which may give the hosts networks and servers of their own")
    return options, parser.programs(options.bin_dir, "key", "relay", "auth", "lab", "remote")


def main():
    options, programs = arguments()
    if INSIDE not in os.environ:
        os.environ[INSIDE] = "1"
        os.execvp("unshare", ["unshare", "--net", "--", sys.executable, *sys.argv])
    if options.root:
        return run_suite("remote", {name: INSTALLED[name] for name in options.cases}, lambda folder, signals: InstalledEnvironment(
            programs, folder, signals, options.root, options.packages), keep=options.keep)
    return run_suite("remote", {name: ALL[name] for name in options.cases},
                     lambda folder, signals: RemoteEnvironment(programs, folder, signals, options.openssh),
                     keep=options.keep)


if __name__ == "__main__":
    sys.exit(main())
