# SPDX-License-Identifier: Apache-2.0
"""Reasons for which the guest is unavailable, and the exit status of programs that run one."""
import signal
import sys

from harness.command import UNAVAILABLE
from harness.waiting import Interrupted


class Unavailable(Exception):
    """A prerequisite of the guest is missing or does not work; the text says which."""


def interrupt(number, _frame):
    """Raises at any point; if QEMU has no owner yet, it ends with this process."""
    raise Interrupted(number)


def run_main(name, main):
    """Exits with the result of main(), or with the status of the signal or prerequisite that ended it."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupt)
    try:
        sys.exit(main())
    except Unavailable as error:
        print(f"{name}: {error}", file=sys.stderr)
        sys.exit(UNAVAILABLE)
    except Interrupted as error:
        sys.exit(128 + error.number)
