#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Client that violates the protocol but receives the advert.

  hostile_client.py --relay HOST:PORT --ca FILE ATTACK < request

Reads one {"publicKey": ...} for attacks that modify a valid request. Prints the code's text, then one JSON line: the
statuses that were received and the end of the tunnel. Exit status 0 if the authenticator sent nothing else.
"""
import argparse, json, os, secrets, sys

import cbor, channel, ctap
from desktop import Desktop
from radio import Radio
from tunnel import TunnelFailed
from website import Ceremony

TOO_LONG = channel.LONGEST_FRAME + 1
# Longer than any time-out of an authenticator, in seconds.
PATIENCE = 80


def before_handshake(send):
    """Attack in place of the first handshake message."""

    def attack(desktop, _):
        send(desktop, desktop.initiate().message1)

    return attack


def after_handshake(send):
    """Attack on the open channel with a modified request."""

    def attack(desktop, request):
        desktop.shake_hands()
        desktop.meet()
        send(desktop, bytes([channel.CTAP]) + request)

    return attack


def asking(request):
    """Invalid request: the authenticator must answer with a status and must not ask its user."""
    return after_handshake(lambda desktop, _: desktop.send(bytes([channel.CTAP]) + request))


def sending(message, **how):
    return after_handshake(lambda desktop, _: desktop.send(message, **how))


def off_curve(message1):
    return message1[:64] + bytes([message1[64] ^ 1]) + message1[65:]


def unproven(message1):
    """Sends a well-formed message with a wrong tag."""
    return message1[:-1] + bytes([message1[-1] ^ 1])


def begin_again(desktop, _):
    """Repeats the first handshake message where a frame is expected."""
    desktop.tunnel.send(desktop.first)


def cut(desktop, message):
    desktop.tunnel.send(desktop.channel.seal(message)[:-1])


def flip(desktop, message):
    frame = bytearray(desktop.channel.seal(message))
    frame[len(frame) // 2] ^= 1
    desktop.tunnel.send(bytes(frame))


def wait(desktop, _=None):
    """Sends nothing more."""


def replay(desktop, message):
    frame = desktop.channel.seal(message)
    desktop.tunnel.send(frame)
    desktop.tunnel.send(frame)


def reorder(desktop, message):
    first, second = desktop.channel.seal(b"\2\xa0"), desktop.channel.seal(message)
    desktop.tunnel.send(second)
    desktop.tunnel.send(first)


def twice(desktop, message):
    desktop.send(message)
    desktop.send(message)


def updates_without_end(desktop, _):
    for _ in range(80):
        desktop.send(b"\2\xa0")


def leave(desktop, _):
    desktop.tunnel.close()


def vanish(desktop, _):
    """Cuts the connection without shutdown message or close frame."""
    say({"answers": [], "end": "vanished"})
    os._exit(0)


def silent(parameters):
    return bytes([ctap.GET_ASSERTION]) + cbor.canonical({**parameters, 5: {"up": False}})


HASH = bytes(32)
SIGN_IN = {1: "example.com", 2: HASH}
DEEP = b"\xa1\x01" + b"\x81" * 5000 + b"\x00"

ATTACKS = {
    "short first message": before_handshake(lambda desktop, message: desktop.tunnel.send(message[:-1])),
    "long first message": before_handshake(lambda desktop, message: desktop.tunnel.send(message + b"\0")),
    "first message off the curve": before_handshake(lambda desktop, message: desktop.tunnel.send(off_curve(message))),
    "first message that proves nothing": before_handshake(lambda d, message: d.tunnel.send(unproven(message))),
    "empty first message": before_handshake(lambda desktop, _: desktop.tunnel.send(b"")),
    "largest first message": before_handshake(lambda desktop, _: desktop.tunnel.send(bytes(channel.LONGEST_FRAME))),
    "oversized first message": before_handshake(lambda desktop, _: desktop.tunnel.send(bytes(TOO_LONG))),
    "text for a first message": before_handshake(lambda desktop, _: desktop.tunnel.send("text")),
    "left before the handshake": before_handshake(leave),
    "silent before the handshake": before_handshake(wait),
    "first message once more": after_handshake(begin_again),
    "text for a frame": after_handshake(lambda desktop, _: desktop.tunnel.send("text")),
    "truncated frame": after_handshake(cut),
    "changed frame": after_handshake(flip),
    "silent after the handshake": after_handshake(wait),
    "garbage for a frame": after_handshake(lambda desktop, _: desktop.tunnel.send(secrets.token_bytes(80))),
    "short frame": after_handshake(lambda desktop, _: desktop.tunnel.send(bytes(16))),
    "oversized frame": after_handshake(lambda desktop, _: desktop.tunnel.send(bytes(TOO_LONG))),
    "frames in the wrong order": after_handshake(reorder),
    "the same frame twice": after_handshake(replay),
    "two requests at once": after_handshake(twice),
    "updates without end": after_handshake(updates_without_end),
    "vanished": after_handshake(vanish),
    "impossible padding": sending(b"", padding=lambda _: bytes(31) + b"\xff"),
    "empty message": sending(b""),
    "unknown message type": sending(b"\x09"),
    "JSON": sending(b"\x03{}"),
    "damaged update": sending(b"\x02\xa1"),
    "no command": asking(b""),
    "unknown command": asking(b"\x40"),
    "request that is not CBOR": asking(b"\x02\xa2\x01"),
    "bytes behind the request": asking(b"\x02" + cbor.canonical(SIGN_IN) + b"\0"),
    "request nested too deep": asking(b"\x02" + DEEP),
    "request that is no map": asking(b"\x02\x81\x01"),
    "request without a hash": asking(b"\x02" + cbor.canonical({1: "example.com"})),
    "relying party with a line break": asking(b"\x02" + cbor.canonical({**SIGN_IN, 1: "example.com\nor not"})),
    "silent request": asking(silent(SIGN_IN)),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--relay", required=True)
    parser.add_argument("--ca", required=True)
    parser.add_argument("attack", choices=ATTACKS)
    options = parser.parse_args()
    ceremony = Ceremony(json.loads(sys.stdin.read()), "https://example.com")
    request = bytes([ceremony.command]) + cbor.canonical(ceremony.parameters)

    desktop = Desktop(options.relay, options.ca)
    receiver = Radio("hci1")
    with receiver.scanning():
        print(desktop.text, flush=True)
        desktop.hear(receiver)
    receiver.close()
    desktop.join()
    answers, end = [], None
    try:
        ATTACKS[options.attack](desktop, request)
        while True:
            frame = desktop.tunnel.receive(PATIENCE)
            if desktop.channel is None:
                sys.exit(f"the phone answered {len(frame)} bytes to a first message that does not verify")
            message = desktop.channel.open(frame)
            if message[:1] != bytes([channel.CTAP]) or len(message) != 2:
                sys.exit(f"the phone answered {message[:100].hex()}")
            answers.append(message[1])
            desktop.send(bytes([channel.SHUTDOWN]))
    except TunnelFailed as failure:
        end = failure.code
    say({"answers": answers, "end": end})


def say(result):
    print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
