#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Loads deploy/nftables/hybrid-relay.nft in this network namespace and floods port 443 from one source after another.

    unshare --user --map-root-user --net python3 deploy/checks/firewall.py

Each source may hold 64 connections and open 240 in a minute after a burst of 120. Others must be served all the time.
"""
import contextlib
import os
import socket
import subprocess
import sys
import threading
import time

RULES = os.path.join(os.path.dirname(__file__), os.pardir, "nftables", "hybrid-relay.nft")
PORT = 443
OPEN, BURST, RATE = 64, 120, 240 / 60


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def expect(condition, sentence):
    if not condition:
        sys.exit(sentence)


def serve(family, address):
    """Accepts connections and holds each until its client closes it."""
    server = socket.create_server((address, PORT), family=family, backlog=512)

    def hold(connection):
        with connection, contextlib.suppress(OSError):
            connection.recv(1)

    def accept():
        while True:
            threading.Thread(target=hold, args=(server.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()


def connect(source, target):
    """Returns a connection; None if it was refused with a reset."""
    try:
        return socket.create_connection((target, PORT), timeout=10, source_address=(source, 0))
    except ConnectionRefusedError:
        return None


def is_served(source, target):
    """Returns True if a source gets a connection, which is then closed by both ends."""
    connection = connect(source, target)
    if connection:
        with connection:
            connection.shutdown(socket.SHUT_WR)
            connection.recv(1)
    return connection is not None


def check_open(target, source, neighbor, other):
    """Checks the limit of open connections; `neighbor` counts as the same source if it is not None."""
    held = [connection for connection in (connect(source, target) for _ in range(OPEN + 10)) if connection]
    expect(len(held) == OPEN, f"expected {OPEN} open connections of {source}; found {len(held)}")
    if neighbor:
        expect(not is_served(neighbor, target), f"expected {neighbor} to count as {source}; it was served")
    expect(is_served(other, target), f"expected {other} to be served while {source} holds all its connections")
    for connection in held:
        connection.close()


def check_rate(target, source, other):
    """Checks the limit of new connections, one at a time; returns the number that was served at once."""
    begun, made = time.monotonic(), 0
    while made <= 3 * BURST and is_served(source, target):
        made += 1
    most = BURST + RATE * (time.monotonic() - begun) + 1
    expect(BURST <= made <= most, f"expected {BURST} to {most:.0f} connections of {source} at once; found {made}")
    expect(is_served(other, target), f"expected {other} to be served while {source} exceeds its rate")
    return made


def main():
    run("ip", "link", "set", "lo", "up")
    for address in ("2001:db8:0:1::1", "2001:db8:0:1::2", "2001:db8:0:2::1", "2001:db8:0:3::1"):
        run("ip", "address", "add", f"{address}/128", "dev", "lo", "nodad")
    # Loading it again must replace it.
    run("nft", "--file", RULES)
    run("nft", "--file", RULES)
    serve(socket.AF_INET, "127.0.0.1")
    serve(socket.AF_INET6, "::1")
    check_open("127.0.0.1", "127.0.1.1", None, "127.0.1.2")
    check_open("::1", "2001:db8:0:1::1", "2001:db8:0:1::2", "2001:db8:0:2::1")
    made = [check_rate("127.0.0.1", "127.0.1.3", "127.0.1.2"),
            check_rate("::1", "2001:db8:0:3::1", "2001:db8:0:2::1")]
    print(f"{OPEN} connections of a source stay open; {made[0]} (IPv4) and {made[1]} (IPv6) are made at once")


if __name__ == "__main__":
    main()
