# SPDX-License-Identifier: Apache-2.0
"""Child processes that end with their parent, however it ends."""
import shutil
import subprocess


def start(command, **options):
    """Starts a program that gets SIGTERM when this process ends."""
    setpriv = shutil.which("setpriv")
    if setpriv is not None:
        command = [setpriv, "--pdeathsig", "TERM", *command]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, **options)


def end(process, seconds=10):
    """Ends a program and waits for its end; returns its status."""
    if process.poll() is None:
        process.terminate()
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()
