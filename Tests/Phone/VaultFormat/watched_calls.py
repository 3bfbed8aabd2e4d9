#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a program and intercepts its system calls on files below some directories, in one order for all threads. At a
chosen call it kills the program with SIGKILL before the call takes effect, or lets the call fail.

    watched_calls.py --below DIR… [--kill N | --fail N ERROR | --fail-from N ERROR] --log FILE -- COMMAND…
    watched_calls.py --check       exit status 0 if this machine supports it

With --fail-from, every call from the N-th on that needs disk space fails. The log has one line for each call; the exit
status is the program's, or 128 + 9.

strace cannot do this: its `inject=…:when=N` counts separately for each thread and kind of call, so it never reaches the
first calls of a second thread. This program uses seccomp user notification (Linux 5.5): the thread waits in its call
until the supervisor decides the result.
"""
import array
import ctypes
import errno
import fcntl
import os
import platform
import re
import select
import signal
import socket
import struct
import sys
import tempfile
import time

# For each machine: number of the seccomp call, audit architecture, and numbers of the watched system calls.
MACHINES = {
    "x86_64": (317, 0xC000003E, {
        "read": 0, "write": 1, "openat": 257, "pwrite64": 18, "fsync": 74, "fdatasync": 75, "ftruncate": 77,
        "flock": 73, "rename": 82, "renameat": 264, "renameat2": 316, "link": 86, "linkat": 265, "unlink": 87,
        "unlinkat": 263, "mkdir": 83, "mkdirat": 258, "rmdir": 84, "chmod": 90, "fchmod": 91, "fchmodat": 268,
        "open": 2, "creat": 85, "symlinkat": 266,
    }),
    "aarch64": (277, 0xC00000B7, {
        "read": 63, "write": 64, "openat": 56, "pwrite64": 68, "fsync": 82, "fdatasync": 83, "ftruncate": 46,
        "flock": 32, "renameat": 38, "renameat2": 276, "linkat": 37, "unlinkat": 35, "mkdirat": 34, "fchmod": 52,
        "fchmodat": 53, "symlinkat": 36,
    }),
}
BY_DESCRIPTOR = {"read", "write", "pwrite64", "fsync", "fdatasync", "ftruncate", "flock", "fchmod"}
BY_PATH = {"open", "creat", "rename", "link", "unlink", "mkdir", "rmdir", "chmod"}
RECEIVE, SEND = 0xC0502100, 0xC0182101
AT_FDCWD = 0xFFFFFF9C
O_CREAT = 0o100


class Call:
    """A system call on a watched file."""

    def __init__(self, name, path, creates):
        self.name, self.path, self.creates = name, path, creates

    @property
    def changes(self):
        """True if the call may change the disk."""
        return self.creates or self.name not in ("read", "open", "openat", "flock")

    def __str__(self):
        # Random names differ between runs.
        return "%s%s %s" % (self.name, "+" if self.creates else "", re.sub("[0-9a-f]{16,}", "#", self.path))


class Outcome:
    """Result of a watched run: the calls in order, the exit status, and whether the chosen call was reached."""

    def __init__(self):
        self.calls, self.met, self.status = [], False, None


class Watch:
    """The chosen call, counted from 1, and its error; None means SIGKILL."""

    def __init__(self, below, number=None, error=None, stays=False):
        self.below = [os.path.realpath(path) for path in below]
        self.number, self.error, self.stays = number, error, stays

    def hits(self, count, call):
        if self.number is None or count < self.number:
            return False
        # A full disk stays full for all calls that need space.
        return call.creates or call.name in NEEDS_SPACE if self.stays else count == self.number


NEEDS_SPACE = {
    "write", "pwrite64", "fsync", "linkat", "link", "mkdir", "mkdirat", "rename", "renameat", "renameat2",
}


def install_filter():
    """In the child: lets the watched calls wait for the parent, and returns the notification descriptor."""
    number, machine, calls = MACHINES[platform.machine()]
    program = [(0x20, 0, 0, 4), (0x15, 0, len(calls) + 1, machine), (0x20, 0, 0, 0)]
    for index, call in enumerate(sorted(calls.values())):
        program.append((0x15, len(calls) - index, 0, call))
    program += [(0x06, 0, 0, 0x7FFF0000), (0x06, 0, 0, 0x7FC00000)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in program))

    class Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("steps", ctypes.c_void_p)]

    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(38, 1, 0, 0, 0)
    listener = libc.syscall(number, 1, 8, ctypes.byref(Program(len(program), ctypes.addressof(code))))
    if listener < 0:
        raise OSError(ctypes.get_errno(), "seccomp")
    return listener


def start(line, environment, folder, descriptors):
    """Starts a program under the filter with the given standard descriptors.

    Returns its process ID and the notification descriptor."""
    ours, theirs = socket.socketpair()
    child = os.fork()
    if child == 0:
        try:
            ours.close()
            os.chdir(folder)
            for target, source in enumerate(descriptors):
                os.dup2(source, target)
            listener = install_filter()
            theirs.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [listener]))])
            # Both are close-on-exec; this only frees them earlier.
            os.close(listener)
            theirs.close()
            os.execve(line[0], line, environment)
        except OSError as error:
            os.write(2, ("%s\n" % error).encode())
        finally:
            os._exit(125)
    theirs.close()
    message, ancillary, _, _ = ours.recvmsg(1, socket.CMSG_LEN(4))
    ours.close()
    if not ancillary:
        os.waitpid(child, 0)
        raise OSError(errno.ENOSYS, "this machine cannot watch system calls")
    return child, struct.unpack("i", ancillary[0][2])[0]


class Watcher:
    """Decides the calls of one process."""

    def __init__(self, process, watch):
        self.process, self.watch = process, watch
        self.names = {number: name for name, number in MACHINES[platform.machine()][2].items()}
        self.groups = {}

    def belongs(self, thread):
        """Returns True if a thread belongs to the program itself and not to a child process."""
        if thread not in self.groups:
            try:
                text = open("/proc/%d/status" % thread).read()
            except OSError:
                return False
            self.groups[thread] = int(re.search(r"^Tgid:\s*(\d+)", text, re.M).group(1))
        return self.groups[thread] == self.process

    def text(self, thread, address):
        with open("/proc/%d/mem" % thread, "rb", buffering=0) as memory:
            memory.seek(address)
            # The next page may not be mapped; names are short.
            text = memory.read(4096 - address % 4096)
            if b"\0" not in text:
                text += memory.read(4096)
            return text.split(b"\0")[0]

    def descriptor(self, thread, number):
        link = "cwd" if number & 0xFFFFFFFF == AT_FDCWD else "fd/%d" % (number & 0xFFFFFFFF)
        return os.readlink("/proc/%d/%s" % (thread, link)).replace(" (deleted)", "")

    def call(self, thread, number, arguments):
        """Returns the call if it is on a watched file, else None."""
        name = self.names[number]
        try:
            if name in BY_DESCRIPTOR:
                path = self.descriptor(thread, arguments[0])
            elif name in BY_PATH:
                # Of two names, the new one decides.
                which = 1 if name in ("rename", "link") else 0
                path = self.resolve(self.descriptor(thread, AT_FDCWD), self.text(thread, arguments[which]))
            else:
                which = 2 if name in ("renameat", "renameat2", "linkat") else 1 if name == "symlinkat" else 0
                path = self.resolve(self.descriptor(thread, arguments[which]), self.text(thread, arguments[which + 1]))
        except PermissionError:
            # Otherwise a call on a watched file might pass unnoticed.
            raise
        except OSError:
            return None
        if not any(path == root or path.startswith(root + "/") for root in self.watch.below):
            return None
        creates = name == "creat" or (name == "openat" and bool(arguments[2] & O_CREAT)) or (
            name == "open" and bool(arguments[1] & O_CREAT))
        return Call(name, path, creates)

    @staticmethod
    def resolve(folder, name):
        path = os.path.normpath(os.path.join(folder, os.fsdecode(name)))
        # /tmp may be a symbolic link, and the last component may not exist.
        return os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))

    def serve(self, listener, outcome, deadline):
        poll = select.poll()
        poll.register(listener, select.POLLIN)
        while True:
            events = poll.poll(max(0, (deadline - time.monotonic()) * 1000))
            if not events:
                os.kill(self.process, signal.SIGKILL)
                raise TimeoutError("the program did not end")
            if not events[0][1] & select.POLLIN:
                return
            request = bytearray(80)
            try:
                fcntl.ioctl(listener, RECEIVE, request)
            except OSError as error:
                # The thread was killed while it waited.
                if error.errno in (errno.ENOENT, errno.EINTR):
                    continue
                raise
            identity, thread, _, number, _, _, *arguments = struct.unpack("QIIiIQ6Q", request)
            answer = struct.pack("QqiI", identity, 0, 0, 1)
            call = self.call(thread, number, arguments) if self.belongs(thread) else None
            if call:
                outcome.calls.append(call)
                if self.watch.hits(len(outcome.calls), call):
                    outcome.met = True
                    if self.watch.error is None:
                        os.kill(self.process, signal.SIGKILL)
                        continue
                    answer = struct.pack("QqiI", identity, 0, -self.watch.error, 0)
            try:
                fcntl.ioctl(listener, SEND, bytearray(answer))
            except OSError as error:
                if error.errno != errno.ENOENT:
                    raise


def run(line, watch, environment, folder, descriptors, limit=120):
    """Runs a program to its end."""
    process, listener = start(line, environment, folder, descriptors)
    outcome = Outcome()
    try:
        Watcher(process, watch).serve(listener, outcome, time.monotonic() + limit)
    finally:
        os.close(listener)
        _, status = os.waitpid(process, 0)
        outcome.status = os.waitstatus_to_exitcode(status)
    return outcome


# Like hybrid-auth, it is not dumpable (PR_SET_DUMPABLE is 4).
NOT_DUMPABLE = "import ctypes, os, sys; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0); os.mkdir(sys.argv[1])"


def can_watch():
    """Returns True if the paths of calls can be read, for which root needs CAP_SYS_PTRACE."""
    if platform.machine() not in MACHINES:
        return False
    with tempfile.TemporaryDirectory() as folder, open(os.devnull, "r+") as null:
        # The last component does not exist before the call.
        path = os.path.join(os.path.realpath(folder), "made")
        try:
            outcome = run([sys.executable, "-c", NOT_DUMPABLE, path], Watch([path]), {}, "/", [null.fileno()] * 3)
        except OSError:
            return False
        return outcome.status == 0 and any(call.path == path for call in outcome.calls)


def main(arguments):
    if arguments == ["--check"]:
        sys.exit(0 if can_watch() else 69)
    line = arguments[arguments.index("--") + 1 :]
    options = arguments[: arguments.index("--")]
    below, log, number, error, stays = [], None, None, None, False
    while options:
        option = options.pop(0)
        if option == "--below":
            below.append(options.pop(0))
        elif option == "--log":
            log = options.pop(0)
        elif option in ("--kill", "--fail", "--fail-from"):
            number, stays = int(options.pop(0)), option == "--fail-from"
            error = getattr(errno, options.pop(0)) if option != "--kill" else None
        else:
            sys.exit(__doc__)
    outcome = run(line, Watch(below, number, error, stays), dict(os.environ), os.getcwd(), [0, 1, 2])
    with open(log, "w") as file:
        file.write("".join("%s\n" % call for call in outcome.calls))
    sys.exit(outcome.status if outcome.status >= 0 else 128 - outcome.status)


if __name__ == "__main__":
    main(sys.argv[1:])
