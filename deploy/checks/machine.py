# SPDX-License-Identifier: Apache-2.0
"""A Debian system started by systemd-nspawn, in its own empty network."""

import os
import pathlib
import signal
import subprocess
import time


class Machine:
    # Longest start of the machine and longest command in it, in seconds.
    START, COMMAND = 90, 300

    def __init__(self, root: pathlib.Path, console: pathlib.Path | None = None, options: tuple = ()):
        self.root = root
        self.options = options
        self.log_path = console or root.parent / "console"

    def __enter__(self) -> "Machine":
        self.log = open(self.log_path, "w+", encoding="utf-8", errors="replace")
        # Only a running systemd registers machines.
        unit = [] if os.path.isdir("/run/systemd/system") else ["--keep-unit"]
        self.nspawn = subprocess.Popen(
            ["systemd-nspawn", "--quiet", "--register=no", *unit, "--private-network", "--machine=hybrid-packages",
             *self.options, "-D", self.root, "--boot"],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            self.leader = self.first_process()
            self.settle()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_) -> None:
        # systemd in the machine treats this as a power button.
        if self.nspawn.poll() is None:
            self.nspawn.terminate()
            try:
                self.nspawn.wait(60)
            except subprocess.TimeoutExpired:
                os.killpg(self.nspawn.pid, signal.SIGKILL)
                self.nspawn.wait()
        self.log.close()

    def first_process(self) -> int:
        """Returns the process ID of the machine's systemd on the host."""
        children = pathlib.Path(f"/proc/{self.nspawn.pid}/task/{self.nspawn.pid}/children")
        end = time.monotonic() + self.START
        while time.monotonic() < end and self.nspawn.poll() is None:
            for child in children.read_text().split():
                try:
                    if pathlib.Path(f"/proc/{child}/comm").read_text().strip() == "systemd":
                        return int(child)
                except OSError:
                    pass
            time.sleep(0.1)
        raise SystemExit("packages: systemd-nspawn did not start the machine: " + self.console())

    def settle(self) -> None:
        """Waits until systemd has finished booting."""
        end = time.monotonic() + self.START
        while (state := self.ask("systemctl", "is-system-running")) not in ("running", "degraded"):
            if time.monotonic() > end or self.nspawn.poll() is not None:
                raise SystemExit(f"packages: the machine is {state or 'gone'}: {self.console()}")
            time.sleep(0.2)

    def console(self) -> str:
        self.log.flush()
        self.log.seek(0)
        return self.log.read()[-2000:]

    def inside(self, *command: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            ["nsenter", "-t", str(self.leader), "-m", "-u", "-i", "-n", "-p", "-r", "-w", "env", "-i", "LANG=C.UTF-8",
             "PATH=/usr/sbin:/usr/bin:/sbin:/bin", *command],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=self.COMMAND)

    def run(self, *command: str) -> str:
        """Returns the output of a command that must succeed."""
        done = self.inside(*command)
        if done.returncode != 0:
            raise SystemExit(f"packages: {' '.join(command)} exited with {done.returncode}: "
                             f"{done.stdout[-1500:]}{done.stderr[-1500:]}")
        return done.stdout

    def ask(self, *command: str) -> str:
        """Returns the output of a command with any exit status."""
        return self.inside(*command).stdout.strip()
