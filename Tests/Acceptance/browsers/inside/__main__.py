# SPDX-License-Identifier: Apache-2.0
"""Starts hybrid-uhid in the guest, and runs the cases as the user who is active at seat0.

Its arguments are those of suite.py without the last two.
"""
import os
import pwd
import shutil
import signal
import subprocess
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2]))

from harness.programs import Program, brief

USER, ACCOUNT = "ada", "_hybrid-uhid"
RESULTS, PROGRAMS = Path("/mnt/results"), Path("/mnt/programs")
SOCKET, SEATS = Path("/run/hybrid-uhid/socket"), Path("/run/systemd/seats")
# Passes the socket like a service manager, to a process under the account; starts another when it has ended without clients.
LAUNCHER = """
import os, socket, sys
path, program, account = sys.argv[1:]
listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
listener.bind(path)
os.chmod(path, 0o666)
listener.listen()
if listener.fileno() != 3: os.dup2(listener.fileno(), 3)
os.set_inheritable(3, True)
while True:
    child = os.fork()
    if child == 0:
        os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
        os.execvp("chrt", ["chrt", "--rr", "1", "setpriv", f"--reuid={account}", f"--regid={account}", "--clear-groups", program])
    os.waitpid(child, 0)
"""
# What logind's access list does.
RULE = f'SUBSYSTEM=="hidraw", ENV{{ID_SECURITY_TOKEN}}=="1", OWNER="{USER}"\n'


def start_helper():
    """Starts hybrid-uhid under its account, with its socket; returns the program."""
    environment = dict(os.environ)
    brief(["useradd", "--system", ACCOUNT], environment=environment, check=False)
    os.chmod("/dev/uhid", 0o660)
    shutil.chown("/dev/uhid", group=ACCOUNT)
    Path("/etc/udev/rules.d/90-test.rules").write_text(RULE)
    brief(["udevadm", "control", "--reload"], environment=environment)
    SOCKET.parent.mkdir(exist_ok=True)
    SEATS.mkdir(parents=True, exist_ok=True)
    (SEATS / "seat0").write_text(f"IS_SEAT0=1\nACTIVE=1\nACTIVE_UID={pwd.getpwnam(USER).pw_uid}\n")
    return Program("hybrid-uhid", [sys.executable, "-c", LAUNCHER, SOCKET, PROGRAMS / "hybrid-uhid", ACCOUNT],
                   log=RESULTS / "uhid.log", environment=environment)


def main(kind, *arguments):
    # The evidence is kept after the time limit, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    # The site has the usual port.
    Path("/proc/sys/net/ipv4/ip_unprivileged_port_start").write_text("0")
    helper, folder = start_helper(), Path("/run/browsers")
    folder.mkdir(exist_ok=True)
    shutil.chown(folder, USER, USER)
    command = [sys.executable, "-B", Path(__file__).with_name("suite.py"), kind, *arguments, RESULTS / "ceremonies.jsonl",
               PROGRAMS]
    try:
        status = subprocess.run(["setpriv", f"--reuid={USER}", f"--regid={USER}", "--init-groups", *map(str, command)],
                                env={**os.environ, "TMPDIR": str(folder), "HOME": f"/home/{USER}"}, check=False).returncode
    finally:
        helper.stop()
        brief(["cp", "-r", "--no-preserve=all", str(folder), str(RESULTS / kind)], environment=dict(os.environ), check=False)
    return status


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
