# SPDX-License-Identifier: Apache-2.0
"""Hosts that only ssh reaches: each has network, processes, /tmp and /run of its own, and a real sshd."""
import json
import os
import pwd
import re
import shlex
import signal
from pathlib import Path

from harness.openssh import wrap
from harness.programs import Program, brief
from harness.ssh_agent import fingerprint
from harness.waiting import Failed, must

# sshd is the first process, so that no other one outlives it. $1 is the host's folder, $2 hybrid-remote, $3 the home of the
# account, where newer releases of OpenSSH have the sockets of forwarded agents, $4 sshd, $5 another OpenSSH.
START = """set -e
mount --bind "$2" "$1/bin/hybrid-remote"
[ -z "$5" ] || mount --bind "$5" "$1/openssh"
mount --bind "$1/home" "$3"
mount --rbind "$1" /tmp
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -m 755 /run/sshd
ip link set lo up
exec "$4" -D -e -f /tmp/sshd_config"""
ACCOUNT = pwd.getpwuid(os.getuid())


class Host:
    """A host with a name in known_hosts; `address` is that on the link by which it is reached."""

    def __init__(self, name, env, authorized, openssh=None):
        self.name, self.alias, self.user = name, f"{name}.test", ACCOUNT.pw_name
        self.folder = folder = env.folder.scratch / f"host-{name}"
        for part in (folder, folder / "home", folder / "bin", folder / "home" / ".ssh", folder / "openssh"):
            part.mkdir(mode=0o755)
        folder.chmod(0o1777)
        (folder / "bin" / "hybrid-remote").touch()
        server, options = "/usr/sbin/sshd", []
        if openssh:
            server = "/tmp/bin/sshd"
            options = wrap(openssh, folder / "bin", Path("/tmp/openssh"), Path("/tmp/bin"))
        key = folder / "host_key"
        brief(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], environment=env.environment)
        self._key = key.with_suffix(".pub").read_text().split()[:2]
        self.fingerprint = fingerprint(key.with_suffix(".pub"))
        (folder / "authorized_keys").write_text(authorized, encoding="ascii")
        (folder / "sshd_config").write_text(
            "".join(f"{option}\n" for option in options) +
            "Port 22\nHostKey /tmp/host_key\nAuthorizedKeysFile /tmp/authorized_keys\nStrictModes no\nPidFile none\n"
            "PasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin yes\nLogLevel VERBOSE\n"
            "SetEnv HOME=/tmp/home PATH=/tmp/bin:/usr/sbin:/usr/bin:/sbin:/bin\n", encoding="ascii")
        # No variable of the lab.
        self.program = Program(
            f"sshd-{name}", ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--", "sh",
                             "-c", START, "sh", folder, env.programs.remote, ACCOUNT.pw_dir,
                             server, openssh or ""],
            log=env.folder.path(f"sshd-{name}.log"), environment=env.folder.environment())
        env.waiting.watch(self.program)
        env.waiting.until(f"sshd of {self.alias} to listen", lambda: "Server listening" in self.program.said(), 60)
        self.process, = _children(self.program.pid)
        self._network = os.readlink(f"/proc/{self.process}/ns/net")
        self.address = None

    def link(self, number, nearer=None):
        """Connects this host with this computer, or with a nearer host."""
        near, far = f"10.83.{number}.1", f"10.83.{number}.2"
        other = [] if nearer is None else ["netns", str(nearer.process)]
        self._ip(["link", "add", f"to-{self.name}", *other, "type", "veth", "peer", "name", "uplink", "netns",
                  str(self.process)])
        for run, link, address in ((self._ip if nearer is None else nearer.ip, f"to-{self.name}", near),
                                   (self.ip, "uplink", far)):
            run(["address", "add", f"{address}/30", "dev", link])
            run(["link", "set", link, "up"])
        self.address, self.near_address = far, near

    @staticmethod
    def _ip(words):
        brief(["ip", *words], environment=os.environ)

    def ip(self, words):
        return self.inside("ip", *words)

    def words(self, *command, variables=()):
        """Returns a command that runs on this host, outside any ssh session, like a program of a remote desktop."""
        return ["nsenter", "--target", str(self.process), "--net", "--mount", "--pid", "--",
                # nsenter passes no signal on.
                "setpriv", "--pdeathsig", "TERM", "--", "env", "-i", "HOME=/tmp/home",
                "PATH=/tmp/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", *variables, *map(str, command)]

    def inside(self, *command, **options):
        """Runs a short command on this host, outside any ssh session."""
        return brief(self.words(*command), environment=os.environ, **options)

    def known(self):
        """Returns the line of this host in known_hosts."""
        return f"{self.alias} {' '.join(self._key)}\n"

    def processes(self, name="hybrid-remote"):
        """Returns the IDs of this host's processes with a name."""
        found = []
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdecimal() and os.readlink(entry / "ns/net") == self._network and _is_named(entry, name):
                    found.append(int(entry.name))
            except OSError:  # The process has just ended.
                continue
        return found

    def stop(self):
        # unshare ignores SIGTERM. With its first process, the kernel ends all others of this host.
        return self.program.stop(ask=lambda: os.kill(self.process, signal.SIGTERM))


class Ask(Program):
    """A run of `hybrid-remote ask`, here or on a host; the time of its start is the first line of its output."""

    @property
    def response(self):
        """The response for the website."""
        found = [line for line in self.said().splitlines() if line.startswith("{")]
        if self.status != 0 or len(found) != 1:
            raise Failed(f"expected a response from {self.name}; it {self.ending}: {self.said()}")
        return json.loads(found[0])

    @property
    def began(self):
        """The time in seconds at which the request began, on the clock that files have; None if it has not."""
        found = re.search(r"^began (\d+)$", self.said(), re.MULTILINE)
        return found and int(found[1]) / 1e9

    def complaint(self):
        """Returns the only line after the time, without the name of the program."""
        lines = [line for line in self.said().splitlines() if not line.startswith("began ")]
        must(len(lines) == 1, f"expected one line of {self.name}; found {lines}")
        return lines[0]


def asking(origin, *options):
    """Returns the shell's words for a request on standard input."""
    words = ["hybrid-remote", "ask", "--request", "-", "--origin", origin, *options]
    return f"date '+began %s%N'; exec {shlex.join(words)}"


# Reads lines with messages in hexadecimal, opens a connection to the agent for each line, and prints the answers (a hyphen
# for the end of the connection), each with the milliseconds that it took.
RAW = """import os, socket, struct, sys, time
for line in sys.stdin:
    with socket.socket(socket.AF_UNIX) as agent:
        began = time.monotonic()
        agent.connect(os.environ["SSH_AUTH_SOCK"])
        for text in line.split():
            message = bytes.fromhex(text)
            agent.sendall(struct.pack(">I", len(message)) + message)
            data = b""
            while len(data) < 4 or len(data) < 4 + struct.unpack(">I", data[:4])[0]:
                more = agent.recv(65536)
                if not more: break
                data += more
            took, began = 1000 * (time.monotonic() - began), time.monotonic()
            print(data[4:].hex() or "-", took, end=" ")
            if not data: break
        print(flush=True)
"""
RAW_COMMAND = ["python3", "-c", RAW]


def raw_input(connections):
    """Returns the input of `RAW`: messages, or lists of those on one connection."""
    groups = [[one] if isinstance(one, bytes) else one for one in connections]
    return "".join(" ".join(message.hex() for message in group) + "\n" for group in groups)


def raw_answers(said):
    """Returns the (answer, milliseconds) of each request of `RAW`."""
    words = said.split()
    return [(b"" if answer == "-" else bytes.fromhex(answer), float(took)) for answer, took in zip(words[::2], words[1::2])]


def _children(process):
    return [int(child) for task in Path(f"/proc/{process}/task").iterdir()
            for child in (task / "children").read_text().split()]


def _is_named(entry, name):
    fields = (entry / "stat").read_text(errors="replace")
    return fields.partition("(")[2].rpartition(")")[0] == name[:15] and fields.rpartition(")")[2].split()[0] not in "ZX"
