#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Authenticator that violates the protocol.

  hostile_authenticator.py --relay HOST:PORT --ca FILE ATTACK < text of the code

Prints one JSON line: whether the client joined and sent a request, and how the tunnel ended.
"""
import argparse, json, os, secrets, sys
from contextlib import ExitStack

import cbor, channel, ctap, keys, noise, phone as phones, radio
from tunnel import TunnelFailed

AAGUID = bytes(16)
TOO_LONG = channel.LONGEST_FRAME + 1


class Trial:
    """Authenticator and the client's reactions."""

    def __init__(self, text, relay, ca):
        self.phone = phones.Phone(text, relay, ca, 266)
        self.result = {"joined": False, "asked": False, "end": None}

    def join(self):
        """Advertises until the client's first message arrives, and returns it."""
        return self.listen([{radio.FIDO: self.phone.advert}])

    def listen(self, adverts, seconds=60):
        transmitter = radio.Radio("hci1")
        with ExitStack() as stack:
            stack.callback(transmitter.close)
            for services in adverts:
                stack.enter_context(transmitter.advertising(services))
            message1 = self.phone.tunnel.receive(seconds)
        self.result["joined"] = True
        return message1

    def shake_hands(self):
        self.phone.shake_hands(self.join())

    def introduce(self):
        self.shake_hands()
        phones.introduce(self.phone, phones.information(AAGUID))

    def ask(self):
        self.introduce()
        request = self.phone.next_request()
        self.result["asked"] = True
        return cbor.read(request[1:])

    def send(self, message, **how):
        self.phone.send(message, **how)


def unusable_adverts(trial):
    """Sends adverts that are not for this client or that are invalid: it must not join."""
    phone = trial.phone
    advert, eid = phone.advert, phone.eid
    damaged = advert[:-1] + bytes([advert[-1] ^ 1])
    key = keys.eid_key(phone.offer.secret)
    unassigned = keys.seal_eid(eid[:14] + b"\xc8\0", key)
    reserved = keys.seal_eid(b"\1" + eid[1:], key)
    trial.listen([{radio.FIDO: data} for data in (damaged, unassigned, reserved, advert[:19])], 60)


def second_message(change):
    """Sends other bytes in place of the second handshake message."""

    def attack(trial):
        message1 = trial.join()
        trial.phone.tunnel.send(change(trial.phone, message1))

    return attack


def right(phone, message1):
    return phone.respond(message1)[0]


def of_another_handshake(phone, _):
    """Returns keys of a handshake without knowledge of the code and the advert."""
    static, psk = noise.new_key(), secrets.token_bytes(32)
    return noise.respond(static.public_key(), psk, noise.Initiator(static, psk).message1)[0]


def first_message(*frames):
    """Sends other bytes in place of the post-handshake message."""

    def attack(trial):
        trial.shake_hands()
        for frame in frames:
            trial.phone.tunnel.send(frame(trial.phone) if callable(frame) else frame)

    return attack


def introducing(fields):
    message = fields if isinstance(fields, bytes) else cbor.canonical(fields)
    return first_message(lambda phone: phone.channel.seal(message))


def answering(message):
    """Sends other bytes in place of a response."""

    def attack(trial):
        trial.ask()
        trial.send(message)

    return attack


def signing(change):
    """Sends a well-formed response with wrong content."""

    def attack(trial):
        parameters = trial.ask()
        passkeys = ctap.Passkeys(AAGUID)
        passkeys.make(b"made up", {1: parameters[2], 2: {"id": parameters[1]}, 3: {"id": b"somebody"}})
        identifier = next(iter(passkeys.kept))
        data, signature = passkeys.use(identifier, parameters[2])
        user = {"id": b"somebody", "name": "", "displayName": ""}
        answer = {1: ctap.descriptor(bytes.fromhex(identifier)), 2: data, 3: signature, 4: user, 6: True}
        trial.send(bytes([channel.CTAP, ctap.SUCCESS]) + cbor.canonical(change(answer)))

    return attack


def without(key):
    return lambda answer: {number: value for number, value in answer.items() if number != key}


def flags(value):
    return lambda answer: {**answer, 2: answer[2][:32] + bytes([value]) + answer[2][33:]}


def leave(trial):
    trial.join()
    trial.phone.tunnel.close()


def vanish(trial):
    trial.introduce()
    print(json.dumps({**trial.result, "end": "vanished"}), flush=True)
    os._exit(0)


def goodbye(trial):
    trial.ask()
    trial.send(bytes([channel.SHUTDOWN]))


def updates_without_end(trial):
    trial.ask()
    for _ in range(40):
        trial.send(b"\2\xa0")


INFO = cbor.canonical(phones.information(AAGUID))
FIRST = cbor.canonical(channel.post_handshake(INFO))
ANSWER = bytes([channel.CTAP, ctap.SUCCESS])

ATTACKS = {
    "adverts that are not for it": unusable_adverts,
    "short second message": second_message(lambda phone, message: right(phone, message)[:-1]),
    "long second message": second_message(lambda phone, message: right(phone, message) + b"\0"),
    "first message sent back": second_message(lambda phone, message: message),
    "second message off the curve": second_message(lambda phone, message: b"\4" + bytes(63) + b"\1" + message[65:]),
    "second message of another handshake": second_message(of_another_handshake),
    "oversized second message": second_message(lambda phone, message: bytes(TOO_LONG)),
    "text for a second message": second_message(lambda phone, message: "text"),
    "left at the handshake": leave,
    "garbage for a frame": first_message(secrets.token_bytes(112)),
    "first frame with a later counter": first_message(lambda phone: phone.channel.seal(FIRST, counter=1)),
    "first frame twice": first_message(*[lambda phone: phone.channel.seal(FIRST, counter=0)] * 2),
    "oversized frame": first_message(bytes(TOO_LONG)),
    "empty introduction": introducing(b""),
    "introduction that is not CBOR": introducing(b"\xa1"),
    "introduction with bytes behind it": introducing(FIRST + b"\0"),
    "introduction with a key twice": introducing(b"\xa2\x01\x41\x00\x01\x41\x00"),
    "introduction without getInfo": introducing({3: ["ctap"]}),
    "features that are no list": introducing({1: INFO, 3: "ctap"}),
    "getInfo that is not CBOR": introducing({1: b"\xff"}),
    "getInfo without versions": introducing({1: cbor.canonical({3: AAGUID})}),
    "no CTAP": introducing({3: ["dc"]}),
    "vanished": vanish,
    "goodbye instead of an answer": goodbye,
    "empty message": answering(b""),
    "updates without end": updates_without_end,
    "empty answer": answering(bytes([channel.CTAP])),
    "success without a body": answering(ANSWER),
    "answer that is not CBOR": answering(ANSWER + b"\xa1"),
    "answer with bytes behind it": answering(ANSWER + cbor.canonical({2: bytes(37), 3: b""}) + b"\0"),
    "answer that is no map": answering(ANSWER + b"\x80"),
    "answer as JSON": answering(b"\3{}"),
    "unknown message type": answering(b"\x09"),
    "another site's answer": signing(lambda answer: {**answer, 2: bytes(32) + answer[2][32:]}),
    "user neither present nor verified": signing(flags(ctap.BACKUP_ELIGIBLE)),
    "user not verified": signing(flags(ctap.USER_PRESENT)),
    "backed up without being eligible": signing(flags(ctap.USER_PRESENT | ctap.USER_VERIFIED | ctap.BACKED_UP)),
    "answer without a credential": signing(without(1)),
    "answer without a user": signing(without(4)),
    "answer without a signature": signing(without(3)),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--relay", required=True)
    parser.add_argument("--ca", required=True)
    parser.add_argument("attack", choices=ATTACKS)
    options = parser.parse_args()
    trial = Trial(sys.stdin.readline().strip(), options.relay, options.ca)
    try:
        trial.phone.open_tunnel()
        ATTACKS[options.attack](trial)
        while True:
            message = trial.phone.tunnel.receive(30)
            # The frame decrypts only if the client continued in spite of the attack.
            if trial.phone.channel and trial.phone.channel.open(message)[:1] == bytes([channel.CTAP]):
                trial.result["asked"] = True
    except TunnelFailed as failure:
        trial.result["end"] = failure.code
    print(json.dumps(trial.result), flush=True)


if __name__ == "__main__":
    main()
