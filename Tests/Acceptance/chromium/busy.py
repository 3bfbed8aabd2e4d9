# SPDX-License-Identifier: Apache-2.0
"""A busy machine: one endless loop per core, at normal priority."""
import contextlib
import os
import sys

from harness.programs import Program


@contextlib.contextmanager
def busy(is_wanted):
    loops = []
    try:
        if is_wanted:
            for number in range(len(os.sched_getaffinity(0))):
                loops.append(Program(f"busy loop {number}", [sys.executable, "-S", "-c", "while True: pass"],
                                     log=os.devnull, environment=dict(os.environ)))
        yield
    finally:
        for loop in loops:
            loop.stop()
