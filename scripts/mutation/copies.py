# SPDX-License-Identifier: Apache-2.0
"""Copies of the working tree, which are changed, built and tested."""
import contextlib
import fcntl
import glob
import os
import re
import shutil
import signal
import subprocess
import time

from .flaws import ROOT, Unusable
from .results import WORK, listed_files, needs_all

LOG = os.path.join(WORK, "log")
# The same as in scripts/test: without optimized C code, tests of timeouts measure scrypt and TLS.
BUILD_OPTIONS = ["-Xcc", "-O2"]
WIDTH = ["--experimental-maximum-parallelization-width", "12"]
# A flaw may make a test wait forever, which counts as caught.
BUILD_LIMIT, TEST_LIMIT = 3600, 1800
# The line of a test that failed.
FAILED = re.compile(r'^. Test (?:"(.+?)"|(\S+?\(.*?\))) (?:failed after|recorded an issue)', re.MULTILINE)


class Copy:
    """A copy of the working tree, with a build folder of its own."""

    def __init__(self, folder):
        self.tree, self.scratch = os.path.join(folder, "tree"), os.path.join(folder, "build")
        self._options = ["--scratch-path", self.scratch, *BUILD_OPTIONS]

    def update(self, changed=None):
        """Makes the copy equal to the working tree, except for files whose changed texts are given by path.

        Unchanged files keep their times, so that the build compiles changed ones only.
        """
        changed = changed or {}
        wanted = listed_files()
        known = {*wanted, *changed, "Package.resolved"}
        for folder, folders, names in os.walk(self.tree):
            links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
            for name in names + links:
                path = os.path.join(folder, name)
                if os.path.relpath(path, self.tree) not in known:
                    os.remove(path)
        for path in {*wanted, *changed}:
            source, target = os.path.join(ROOT, path), os.path.join(self.tree, path)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            if path in changed:
                if not os.path.exists(target) or open(target).read() != changed[path]:
                    write({target: changed[path]})
            elif os.path.islink(source):
                if not os.path.islink(target) or os.readlink(target) != os.readlink(source):
                    if os.path.lexists(target):
                        os.remove(target)
                    os.symlink(os.readlink(source), target)
            elif not os.path.exists(target) or open(target, "rb").read() != open(source, "rb").read():
                shutil.copy2(source, target)
                os.utime(target)

    def run(self, name, target, command, limit, until=None):
        """Runs a command in the copy, for one test target or all.

        Returns its exit status, None if it reached the limit, and its output.
        """
        # Programs of another build have no flaw, and warnings are not what is checked here.
        foreign = ("HYBRID_TEST_PROGRAMS", "HYBRID_WARNINGS_AS_ERRORS", "HYBRID_ONLY")
        environment = {name: value for name, value in os.environ.items() if name not in foreign}
        environment["SWIFT_BACKTRACE"] = "enable=no"
        # Package.swift leaves out what the test target does not need.
        if target and not needs_all(target):
            environment["HYBRID_ONLY"] = target
        path = os.path.join(LOG, name + ".log")
        with open(path, "w+", errors="replace") as log:
            process = subprocess.Popen(command, cwd=self.tree, env=environment, stdin=subprocess.DEVNULL, stdout=log,
                                       stderr=subprocess.STDOUT, start_new_session=True)
            try:
                status = wait(process, limit, until, path)
            finally:
                end_descendants()
                process.wait()
            log.seek(0)
            return status, log.read()

    def build(self, name, target=None):
        """Builds the tests, or only one test target and what it depends on."""
        return self.run(name, target, ["swift", "build", *self._options, "--build-tests"], BUILD_LIMIT)

    def test(self, name, target, until=None):
        """Runs the tests of one target, or all, after a build for the same target."""
        chosen = ["--filter", rf"^{target}\."] if target else []
        return self.run(name, target, [*self.program(), *WIDTH, *chosen], TEST_LIMIT, until)

    def program(self, folder=None):
        """Returns the command that runs the tests. `swift test` would ask it for XCTest's tests, which it does not know."""
        folder = folder or os.path.realpath(os.path.join(self.scratch, "debug"))
        return [os.path.join(folder, "hybridPackageTests.xctest"), "--testing-library", "swift-testing"]


def lock():
    """Waits until no other run changes a copy; returns a file that keeps others waiting until it is closed."""
    file = open(os.path.join(WORK, "lock"), "w")
    fcntl.flock(file, fcntl.LOCK_EX)
    return file


def wait(process, limit, until, path):
    """Waits for a process. Returns None if it reached the limit, or if a line of its output matches `until`."""
    deadline = time.monotonic() + limit
    with open(path, "rb") as output:
        while time.monotonic() < deadline:
            with contextlib.suppress(subprocess.TimeoutExpired):
                return process.wait(0.2)
            lines, _, rest = output.read().rpartition(b"\n")
            output.seek(-len(rest), os.SEEK_CUR)
            if until and until.search(lines.decode(errors="replace")):
                return None
    return None


def end_descendants():
    """Kills all descendants, also those in other process groups and sessions, such as the tests' programs."""
    while children := list(own_children()):
        for child in children:
            os.kill(child, signal.SIGKILL)
        for child in children:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(child, 0)


def own_children():
    """Yields the process IDs of the children, orphans included."""
    for path in glob.glob("/proc/[0-9]*/stat"):
        with contextlib.suppress(OSError), open(path) as file:
            # The name of the program stands in parentheses and may contain some.
            if int(file.read().rpartition(")")[2].split()[1]) == os.getpid():
                yield int(path.split("/")[2])


def catcher(status, output):
    """Returns the name of the test that failed, or None if all passed."""
    ran = re.search(r"Test run with (\d+) tests?", output)
    if status == 0:
        if not ran or ran.group(1) == "0":
            raise Unusable("no test ran")
        return None
    failed = FAILED.search(output)
    if failed:
        return failed[1] or failed[2]
    if status is None:
        return "a test that did not end"
    stopped = re.search(r"(?:unexpected signal code \d+|Fatal error: .*|exited with .*signal.*)", output)
    if stopped or status < 0:
        return "a crash in the tests: " + (stopped.group(0)[:80] if stopped else f"signal {-status}")
    raise Unusable(f"the tests ended with status {status} and named no test")


def write(texts):
    for path, text in texts.items():
        with open(path, "w") as file:
            file.write(text)
