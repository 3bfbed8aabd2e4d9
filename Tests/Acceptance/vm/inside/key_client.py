# SPDX-License-Identifier: Apache-2.0
"""A client of hybrid-uhid: key_client.py hold|echo|wrong|flood SOCKET

Prints `closed` at the end of the connection. `hold` keeps the device; `echo` answers each CTAPHID message with the same
one; `wrong` sends a message of 63 bytes when it gets a line on standard input; `flood` then sends 20,000 reports.
"""
import socket
import sys

FLOOD = 20_000


def echo(connection):
    """Answers only complete messages: programs do not read while they write."""
    reports, missing = [], 0
    while report := connection.recv(65):
        if report[4] & 0x80:
            reports, missing = [], int.from_bytes(report[5:7], "big") - 57
        else:
            missing -= 59
        reports.append(report)
        if missing <= 0:
            for answer in reports:
                connection.send(answer)


def main(mode, path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        connection.connect(path)
        try:
            if mode == "echo":
                echo(connection)
            elif mode in ("wrong", "flood"):
                sys.stdin.readline()
                if mode == "wrong":
                    connection.send(bytes(63))
                for number in range(FLOOD if mode == "flood" else 0):
                    connection.send(bytes(8) + number.to_bytes(4, "big") + bytes(52))
            while connection.recv(65):
                pass
        except (ConnectionResetError, BrokenPipeError):
            pass
    print("closed", flush=True)


main(*sys.argv[1:])
