# SPDX-License-Identifier: Apache-2.0
"""Runs the examples of docs/testing-your-site.md like a web developer: a copy of them, Debian's Chromium, and
hybrid-lab on the path. The plug-in for pytest is that of the sources; scripts/check-wheel installs the wheel.
scripts/acceptance starts this program with its dependencies.
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from harness.command import REPOSITORY, Arguments

EXAMPLES = REPOSITORY / "docs" / "examples" / "testing-your-site"
TOOLS = ("chromium", "chromedriver", "xvfb-run", "xauth", "import", "dbus-daemon")
SECONDS = 600


def arguments():
    parser = Arguments("acceptance site", "The examples of docs/testing-your-site.md.")
    options = parser.parse_args()
    parser.require(TOOLS, "run chromium site")
    parser.programs(options.bin_dir, "lab")
    return options


def environment(folder, copy):
    """Returns this process's environment with hybrid-lab and the examples' Python first, without this machine's
    screen or bus.
    """
    strange = ("DBUS_", "HYBRID_", "DISPLAY", "WAYLAND_", "XAUTHORITY", "PYTEST_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(strange)}
    return {**kept, "HOME": str(copy.parent), "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(REPOSITORY / "deploy" / "wheel"),
            "PYTEST_ADDOPTS": "-p hybrid_lab.pytest_plugin -p no:cacheprovider --durations=0 --durations-min=0.5",
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), str(folder), os.environ["PATH"]])}


def run(command, copy, variables):
    """Runs a command and prints its output; returns its status, its output, and the signal that interrupted it, if
    any.
    """
    # A process group of its own, so that all its processes can be ended.
    process = subprocess.Popen(command, cwd=copy, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               text=True, errors="replace", start_new_session=True)

    caught = []

    def end(number, _frame):
        caught.append(signal.Signals(number))
        os.killpg(process.pid, signal.SIGTERM)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM):
        signal.signal(number, end)
    signal.alarm(SECONDS)
    said = []
    for line in process.stdout:
        said.append(line)
        print(f"  {line}", end="", flush=True)
    status = process.wait()
    signal.alarm(0)
    return status, "".join(said), caught[0] if caught else None


def main():
    options = arguments()
    parent = Path(tempfile.mkdtemp(prefix="hybrid-site-"))
    copy = parent / "tests"
    shutil.copytree(EXAMPLES, copy, ignore=shutil.ignore_patterns("__pycache__", "evidence", ".*"))
    began = time.monotonic()
    status, said, caught = run(["./run-tests"], copy, environment(options.bin_dir, copy))
    seconds = time.monotonic() - began
    ran = {file: len(set(re.findall(rf"{re.escape(file)}::(\w+) PASSED", said)))
           for file in ("test_first.py", "test_playwright.py", "test_selenium.py", "test_suite.py")}
    wrong = [f"expected status 0 of the tests; found {status}"] if status else []
    if caught is signal.SIGALRM:
        wrong.append(f"the tests timed out after {SECONDS} s")
    for file, passed in ran.items():
        wanted = len(re.findall(r"^def test_", (copy / file).read_text(encoding="utf-8"), re.MULTILINE))
        if passed != wanted:
            wrong.append(f"expected {wanted} passed tests of {file}; found {passed}")
    print(", ".join(f"{file}: {passed}" for file, passed in ran.items()) + f" passed; {seconds:.0f} s")
    for sentence in wrong:
        print(f"acceptance site: {sentence}", file=sys.stderr)
    if wrong or options.keep:
        print(f"evidence: {copy / 'evidence'}")
    else:
        shutil.rmtree(parent)
    if caught and caught is not signal.SIGALRM:
        print(f"acceptance site: interrupted by {caught.name}", file=sys.stderr)
        return 128 + caught
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
