#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs Python programs, each in a process of its own, without loading the libraries anew for each.

  workshop.py FIFO

Each line of the FIFO is JSON: {"program": PATH, "arguments": [...], "base": PATH}. Standard input comes from
BASE.in, outputs go to BASE.out and BASE.err, and BASE.status appears with the exit status. When the last writer
closes the FIFO this ends, and with it all that still runs.
"""
import json, os, runpy, signal, sys, traceback

# Loaded here once; who is forked has them.
import desktop, inspection, phone, radio, website
import fido2.server, fido2.webauthn, webauthn


def main():
    os.setpgrp()
    # Nobody waits for the supervisors.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    # Without waiting for a writer: the only one may have closed it while the libraries were loaded.
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
    # Whoever sees the file finds it whole.
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
