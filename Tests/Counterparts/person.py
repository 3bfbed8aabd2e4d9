#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A person at a terminal, who reads what pinentry-tty writes there.

  person.py PIN ANSWERS

Standard output has the terminal's path, then, when pinentry has asked as often as there are answers and the last one
was typed, everything that stood on the terminal. The PIN is typed where one is asked for; ANSWERS are the keys for
the other questions, one after the other. Ends with 1 if nothing is asked for two minutes.
"""
import os, pty, re, select, sys, termios

# What pinentry-tty ends a question with: a list of keys, or the prompt for a PIN.
QUESTION = re.compile(rb"(\[[a-z]+\]\? |PIN: )$")


def main():
    pin, answers = sys.argv[1].encode(), list(sys.argv[2].encode())
    keyboard, terminal = pty.openpty()
    # The echo of what is typed is not what pinentry shows.
    settings = termios.tcgetattr(terminal)
    settings[3] &= ~termios.ECHO
    termios.tcsetattr(terminal, termios.TCSANOW, settings)
    print(os.ttyname(terminal), flush=True)
    shown = unread = b""
    # Until the last key has been taken, which pinentry confirms with an end of line: closed earlier, it would be lost.
    while answers or b"\n" not in unread:
        if not select.select([keyboard], [], [], 120)[0]:
            sys.exit("person.py: nothing was asked")
        more = os.read(keyboard, 65536)
        shown, unread = shown + more, unread + more
        question = QUESTION.search(unread) if answers else None
        if question:
            unread = b""
            os.write(keyboard, pin + b"\r" if question[1].startswith(b"PIN") else bytes([answers.pop(0)]))
    sys.stdout.buffer.write(shown)
    sys.stdout.flush()


if __name__ == "__main__":
    main()
