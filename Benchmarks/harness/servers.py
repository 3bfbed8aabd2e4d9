# SPDX-License-Identifier: Apache-2.0
"""One server process on its own CPUs, from its first connection to its end."""
import ctypes
import os
import pathlib
import resource
import signal
import socket
import subprocess
import time

from . import tools

PR_SET_PDEATHSIG = 1
START_SECONDS = 120
LIBC = ctypes.CDLL(None)

# Limits that are too high to be reached, but in force. Loopback sources are exempt.
RELAY_LIMITS = ["--max-tunnels", "100000", "--max-tunnel-bytes", "1024GiB", "--max-lifetime", "86400",
                "--idle-timeout", "86400", "--waiting-timeout", "600", "--head-timeout", "60",
                "--contact-host", "localhost", "--max-listeners", "100000"]


def free_ports():
    """Returns two different free ports; holds each until both are chosen."""
    with socket.socket() as one, socket.socket() as other:
        for each in (one, other):
            each.bind(("127.0.0.1", 0))
        return one.getsockname()[1], other.getsockname()[1]


def end_with_parent():
    """In the child before exec: it must not outlive this process, however that ends."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Commands:
    """Command line of each server."""

    def __init__(self, relay, programs, loops=None):
        self.relay, self.programs, self.loops = relay, programs, loops
        self.certificate, self.key = tools.certificate()
        self.settings = tools.BUILD / "relay.env"
        self.settings.write_text("")

    def command(self, peer, port, admin_port, tls):
        pair = [self.certificate, self.key] if tls else []
        if peer == "node":
            return ["node", tools.HERE / "peers/node/relay.js", tools.NODE_MODULE, port, *pair]
        if peer != "hybrid-relay":
            return [self.programs[peer], port, *pair]
        how = ["--tls-cert", self.certificate, "--tls-key", self.key] if tls else ["--plaintext"]
        loops = ["--event-loops", self.loops] if self.loops else []
        return [self.relay, "serve", "--config", self.settings, "--listen", f"127.0.0.1:{port}", "--admin-listen",
                f"127.0.0.1:{admin_port}", *how, *RELAY_LIMITS, *loops]


def environment(peer, cpus):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HYBRID_")}
    if peer == "go":
        kept["GOMAXPROCS"] = str(len(cpus))
    return kept


class Server:
    """For a with statement: the process is always gone at the end."""

    def __init__(self, peer, commands, cpus, tls, wrapper=()):
        self.peer, self.cpus = peer, cpus
        self.port, admin_port = free_ports()
        self.words = [str(word) for word in [*wrapper, *commands.command(peer, self.port, admin_port, tls)]]
        self.log_path = tools.BUILD / f"{peer}.log"

    def __enter__(self):
        def prepare():
            end_with_parent()
            os.sched_setaffinity(0, self.cpus)
            most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))

        # The server's log goes to a file, as in production.
        with open(self.log_path, "wb") as log:
            try:
                self.process = subprocess.Popen(self.words, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                                env=environment(self.peer, self.cpus), preexec_fn=prepare,
                                                start_new_session=True)
            except OSError as problem:
                raise tools.Stop(66, f"cannot start {self.words[0]}: {problem.strerror}") from None
        try:
            self.wait_for_port()
            self.wait_for_rest()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def wait_for_port(self):
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end and self.process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.02)
        lines = pathlib.Path(self.log_path).read_text(errors="replace").strip().splitlines()
        # A usage text follows the error of the command line.
        why = next((line for line in lines if line.startswith("Error")), lines[-1] if lines else "no output")
        raise tools.Stop(69, f"{self.peer} does not listen: {why}")

    def cpu(self):
        """CPU time of all threads so far, in nanoseconds."""
        total = 0
        for task in pathlib.Path(f"/proc/{self.process.pid}/task").iterdir():
            try:
                total += int((task / "schedstat").read_text().split()[0])
            except FileNotFoundError:
                pass
        return total

    def wait_for_rest(self):
        """Waits until the work of the start is done; a server that is never idle is measured nevertheless."""
        end, last = time.monotonic() + 5, -1
        while time.monotonic() < end and self.cpu() != last:
            last = self.cpu()
            time.sleep(0.1)

    def stop(self, seconds):
        """Ends the server with SIGTERM, because valgrind writes its result then."""
        self.process.terminate()
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise tools.Stop(70, f"expected {self.peer} to end on SIGTERM; it did not") from None
