# SPDX-License-Identifier: Apache-2.0
"""Logs in with a real ssh to a real sshd, and signs with a real git, with a key on the phone.

See ../README.md; scripts/acceptance starts this program with its dependencies.
"""
import sys
from pathlib import Path

from cases import ALL, CASES
from environment import SSHEnvironment
from harness.command import Arguments, names_of
from harness.suite import run_suite

TOOLS = ("setpriv", "ssh", "/usr/sbin/sshd", "ssh-add", "ssh-keygen", "scp", "rsync", "git", "openssl", "dbus-daemon",
         "dbus-monitor")


def arguments():
    parser = Arguments("acceptance ssh", __doc__.splitlines()[0])
    parser.add_argument("--cases", type=names_of("case", ALL), default=tuple(CASES), metavar="A,B",
                        help=f"cases, of {', '.join(ALL)}; default {','.join(CASES)}; all others need the key of keygen")
    parser.add_argument("--all", action="store_const", const=tuple(ALL), dest="cases",
                        help="all cases, including SIGKILL at every stage of a ceremony")
    parser.add_argument("--openssh", type=lambda path: Path(path).resolve(), metavar="DIR",
                        help="another release of OpenSSH, in a folder of unpacked packages; see "
                             "Tests/Acceptance/README.md")
    options = parser.parse_args()
    if options.openssh and not options.openssh.is_dir():
        parser.unavailable(f"no folder {options.openssh}; Tests/Acceptance/README.md describes how to make it")
    parser.require(TOOLS, "run ssh")
    return options, parser.programs(options.bin_dir, "key", "relay", "auth", "lab")


def main():
    options, programs = arguments()
    if not options.openssh:
        print("  left out  other releases of OpenSSH; --openssh DIR adds one", flush=True)
    return run_suite("ssh", {name: ALL[name] for name in options.cases},
                     lambda folder, signals: SSHEnvironment(programs, folder, signals, options.openssh),
                     keep=options.keep)


if __name__ == "__main__":
    sys.exit(main())
