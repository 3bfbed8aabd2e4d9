#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Simulated user at a terminal who answers pinentry-tty.

  person.py PIN ANSWERS

Prints the terminal's path. After the last answer it prints everything that appeared on the terminal. The PIN is typed at
PIN prompts; ANSWERS are the keys for the other prompts, in order. Exit status 1 if no prompt appears for two minutes.
"""
import os, pty, re, select, sys, termios

# Ends of a prompt of pinentry-tty: a list of keys, or the request for a PIN.
QUESTION = re.compile(rb"(\[[a-z]+\]\? |PIN: )$")


def main():
    pin, answers = sys.argv[1].encode(), list(sys.argv[2].encode())
    keyboard, terminal = pty.openpty()
    # Without echo, the output contains pinentry's text only.
    settings = termios.tcgetattr(terminal)
    settings[3] &= ~termios.ECHO
    termios.tcsetattr(terminal, termios.TCSANOW, settings)
    print(os.ttyname(terminal), flush=True)
    shown = unread = b""
    # pinentry confirms the last key with a line end; if the terminal closed earlier, the key would be lost.
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
