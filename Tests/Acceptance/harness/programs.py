# SPDX-License-Identifier: Apache-2.0
"""Programs that can be stopped with all their descendants in every case."""
import os
import re
import signal
import subprocess
from pathlib import Path

from harness.waiting import Failed, poll

# Signals with which a program ends through its own error.
CRASHES = (signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGSEGV, signal.SIGSYS, signal.SIGTRAP)


def brief(argv, *, environment, seconds=60, check=True, text=None):
    """Runs a short helper command and returns it; raises Failed with its output if it fails."""
    try:
        done = subprocess.run(argv, env=environment, input=text, capture_output=True, text=True, encoding="utf-8",
                              errors="replace", timeout=seconds, start_new_session=True,
                              stdin=subprocess.DEVNULL if text is None else None)
    except subprocess.TimeoutExpired:
        raise Failed(f"{argv[0]} timed out after {seconds} s") from None
    except OSError as error:
        raise Failed(f"{argv[0]} cannot be run: {error.strerror}") from None
    if check and done.returncode != 0:
        raise Failed(f"{' '.join(argv)} ended with status {done.returncode}: {done.stderr.strip()}")
    return done


def session_members(session):
    """Returns the live processes of a session as {process ID: name}."""
    members = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal():
            continue
        try:
            head, _, tail = (entry / "stat").read_text(errors="replace").rpartition(")")
        except OSError:  # The process has just ended.
            continue
        state, _parent, _group, its_session = tail.split()[:4]
        if int(its_session) == session and state not in "ZX":
            members[int(entry.name)] = head.partition("(")[2]
    return members


class Program:
    """A running program in its own session, with its output in a file.

    The session identifies all descendants. If this process is killed, the kernel sends SIGTERM to the program.
    """

    def __init__(self, name, argv, *, log, environment, text=None, pipe_input=False, pass_fds=()):
        self.name = name
        self.log = Path(log)
        with open(self.log, "ab") as output:
            self._process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "TERM", "--", *map(str, argv)], env=environment, stdout=output,
                stderr=subprocess.STDOUT, pass_fds=pass_fds, start_new_session=True,
                stdin=subprocess.PIPE if pipe_input or text is not None else subprocess.DEVNULL)
        if text is not None:
            try:
                self._process.stdin.write(text.encode())
            except BrokenPipeError:
                pass  # The program ended at once; its status shows why.
            self.close_input()

    def write(self, text):
        """Writes to the input; requires `pipe_input`."""
        try:
            self._process.stdin.write(text.encode())
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # The program has ended; its status shows why.

    def close_input(self):
        try:
            self._process.stdin.close()
        except BrokenPipeError:
            pass

    @property
    def pid(self):
        return self._process.pid

    def peak_memory(self):
        """Returns the largest memory (VmHWM) in MiB that any process of the session has had."""
        def peak(process):
            try:
                found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{process}/status").read_text())
            except OSError:
                found = None  # The process has ended.
            return int(found[1]) / 1024 if found else 0

        return max(map(peak, session_members(self.pid)), default=0)

    @property
    def status(self):
        """Exit status, negative for a signal; None while it runs."""
        return self._process.poll()

    @property
    def ending(self):
        """Description of the end."""
        status = self.status
        if status is None:
            return "is still running"
        if status < 0:
            return f"was killed by {signal.Signals(-status).name}"
        return f"ended with status {status}"

    def said(self):
        """Returns the output so far."""
        return self.log.read_text(encoding="utf-8", errors="replace")

    def kill(self):
        """Kills the program with SIGKILL and waits until it is gone."""
        self._process.kill()
        self._process.wait()

    def stop(self, ask=None, seconds=60):
        """Ends the program and all its descendants; returns the errors found.

        `ask` requests the end in the program's own way; without one, or without success, the program gets SIGTERM,
        then SIGKILL.
        """
        complaints = []
        if self.status is None and ask is not None:
            ask()
            poll(lambda: self.status is not None, seconds)
        if self.status is None:
            if ask is not None:
                complaints.append(f"expected {self.name} to end within {seconds} s of the request; it did not")
            self._process.terminate()
            poll(lambda: self.status is not None, seconds)
        if self.status is None:
            complaints.append(f"expected {self.name} to end within {seconds} s of SIGTERM; it did not")
            self._process.kill()
            poll(lambda: self.status is not None, seconds)
        if self._process.stdin:
            self.close_input()  # Descendants that wait for its end get time to end.
        # Also at the end, when no case looks at it any more. Of other projects' programs, the results count.
        if self.name.startswith("hybrid-") and -(self.status or 0) in CRASHES:
            complaints.append(f"{self.name} {self.ending}: {self.said().strip()[-2000:]}")
        left = {}

        def is_empty():
            nonlocal left
            left = session_members(self.pid)
            return not left

        if not poll(is_empty, 60):
            complaints.append(f"{self.name} left processes behind: {', '.join(sorted(set(left.values())))}")
            for process in left:
                try:
                    os.kill(process, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            poll(is_empty, 60)
        return complaints
