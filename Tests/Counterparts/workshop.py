#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs Python programs as forked processes, so that libraries are loaded once.

  workshop.py FIFO

Each line of the FIFO is JSON: {"program": PATH, "arguments": [...], "base": PATH}. Standard input comes from BASE.in,
output goes to BASE.out and BASE.err, and the exit status to BASE.status. When the last writer closes the FIFO, this
program and all its children end.
"""
import json, os, runpy, signal, sys, traceback

# Loaded once, before the first fork.
import desktop, inspection, phone, radio, website
import fido2.server, fido2.webauthn, webauthn


def main():
    os.setpgrp()
    # The supervisors need no wait().
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    # Non-blocking: the only writer may have closed the FIFO while the libraries were loaded.
    fifo = os.open(sys.argv[1], os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(fifo, True)
    with open(fifo) as jobs:
        for line in jobs:
            if os.fork() == 0:
                supervise(json.loads(line))
    os.killpg(0, signal.SIGKILL)


def supervise(job):
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    child = os.fork()
    if child == 0:
        run(job)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    path = job["base"] + ".status"
    with open(path + ".part", "w") as file:
        file.write(str(code if code >= 0 else 128 - code))
    # Renamed into place, so that readers see the complete file.
    os.rename(path + ".part", path)
    os._exit(0)


def run(job):
    for descriptor, suffix, flags in ((0, ".in", os.O_RDONLY), (1, ".out", os.O_WRONLY), (2, ".err", os.O_WRONLY)):
        os.dup2(os.open(job["base"] + suffix, flags | os.O_CREAT, 0o600), descriptor)
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")
    sys.argv = [job["program"], *job["arguments"]]
    code = 0
    try:
        runpy.run_path(job["program"], run_name="__main__")
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
