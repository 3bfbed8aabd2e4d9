#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Computes Tests/Vectors/transfer.json: codes, keys, a handshake and messages of transfers.

  $(scripts/python) Tests/Counterparts/transfer_wire_vectors.py > Tests/Vectors/transfer.json
"""
import hashlib, json

import cbor, channel, keys, noise, qr, transfer_wire


def fixed(label, length):
    """Returns bytes that look random and are the same in each run."""
    return hashlib.shake_128(label.encode()).digest(length)


def scalar(label):
    # Smaller than the order of the curve.
    return b"\x7f" + fixed(label, 31)


def members(label, purpose="give", **more):
    point = noise.compressed(noise.private_key(scalar(f"static {label}")).public_key())
    fields = {0: point, 1: fixed(f"secret {label}", 16), 3: 1_800_000_000, 16: 1, 17: purpose}
    fields.update({int(key[1:]): value for key, value in more.items()})
    return {key: value for key, value in fields.items() if value is not None}


def accepted(name, fields, channels, text=None):
    code = text or transfer_wire.text(fields)
    read = transfer_wire.parse(code.replace("//", "/"))
    return {
        "name": name, "text": code, "cbor": cbor.canonical(fields).hex(), "purpose": read.purpose,
        "receiver_key": noise.uncompressed(read.receiver_key).hex(), "secret": read.secret.hex(),
        "created": read.created if isinstance(read.created, int) else None, "channels": channels,
    }


def refused(name, text, error):
    return {"name": name, "text": text, "error": error}


def codes():
    usual = members("a")
    digits = transfer_wire.text(usual)[len(transfer_wire.SCHEME) :]
    valid = [
        accepted("give", usual, [0]),
        accepted("join", members("b", "join"), [0]),
        accepted("with Bluetooth", members("c", _6=[0, 1]), [0, 1]),
        accepted("Bluetooth alone", members("d", _6=[1]), [1]),
        accepted("unusable channels", members("e", _6=[7, "x"]), [0]),
        accepted("no time", members("f", _3=None), [0]),
        accepted("members of sign-ins and unknown ones", members("g", _2=2, _4=True, _5="ga", _300=b"x"), [0]),
        accepted("lower case", usual, [0], "hybrid:/" + digits),
        accepted("as a URL", usual, [0], "hybrid://" + digits),
    ]
    invalid = [
        refused("a sign-in code", qr.text({0: usual[0], 1: usual[1], 2: 2, 3: 1, 4: False, 5: "ga"}), "signInCode"),
        refused("the members of a transfer in a sign-in code", qr.SCHEME + digits, "signInCode"),
        refused("another text", "https://example.com", "notTransfer"),
        refused("no scheme", digits, "notTransfer"),
        refused("no digits", transfer_wire.SCHEME, "damaged"),
        refused("a missing digit", transfer_wire.SCHEME + digits[:-1], "damaged"),
        refused("a letter", transfer_wire.SCHEME + digits[:-1] + "a", "damaged"),
        refused("too long", transfer_wire.text(members("a", _300=bytes(500))), "damaged"),
        refused("version 2", transfer_wire.text(members("a", _16=2)), "otherVersion"),
        refused("version 0", transfer_wire.text(members("a", _16=0)), "otherVersion"),
        refused("a version as text", transfer_wire.text(members("a", _16="1")), "otherVersion"),
        refused("no version", transfer_wire.text(members("a", _16=None)), "otherVersion"),
        refused("version 2 with another purpose", transfer_wire.text(members("a", "x", _16=2)), "otherVersion"),
        refused("version 2 without keys", transfer_wire.text({16: 2}), "otherVersion"),
        refused("another purpose", transfer_wire.text(members("a", "take")), "unknownPurpose"),
        refused("a purpose in upper case", transfer_wire.text(members("a", "Give")), "unknownPurpose"),
        refused("a purpose as bytes", transfer_wire.text(members("a", b"give")), "unknownPurpose"),
        refused("no purpose", transfer_wire.text(members("a", None)), "unknownPurpose"),
        refused("no key", transfer_wire.text(members("a", _0=None)), "key 0 is not a compressed point"),
        refused("a point that is too short", transfer_wire.text(members("a", _0=bytes(32))),
                "key 0 is not a compressed point"),
        refused("a point off the curve", transfer_wire.text(members("a", _0=b"\2" + b"\xff" * 32)),
                "key 0 is not on the curve"),
        refused("no secret", transfer_wire.text(members("a", _1=None)), "key 1 is not 16 bytes"),
        refused("a long secret", transfer_wire.text(members("a", _1=bytes(17))), "key 1 is not 16 bytes"),
        refused("a list", transfer_wire.SCHEME + qr.to_digits(b"\x80"), "not a map"),
        refused("bytes after the map", transfer_wire.SCHEME + qr.to_digits(cbor.canonical(usual) + b"\0"),
                "not canonical CBOR"),
    ]
    return valid, invalid


def handshake(label, domain):
    static, secret = noise.private_key(scalar(f"static {label}")), fixed(f"secret {label}", 16)
    ephemerals = {end: scalar(f"{end} {label}") for end in ("receiver", "giver")}
    eid = keys.eid_plaintext(fixed(f"nonce {label}", 10), fixed(f"routing {label}", 3), domain)
    psk = transfer_wire.psk(secret, eid)
    receiver = noise.Initiator(
        static, psk, noise.private_key(ephemerals["receiver"]), prologue=transfer_wire.NAME
    )
    message2, result = noise.respond(
        static.public_key(), psk, receiver.message1, noise.private_key(ephemerals["giver"]), prologue=transfer_wire.NAME
    )
    assert receiver.finish(message2) == result
    eid_key = transfer_wire.eid_key(secret)
    return {
        "code": transfer_wire.text(members(label)), "static_scalar": scalar(f"static {label}").hex(),
        "secret": secret.hex(), "eid_key": eid_key.hex(), "tunnel_id": transfer_wire.tunnel_id(secret).hex(),
        "eid": eid.hex(), "advert": keys.seal_eid(eid, eid_key).hex(), "psk": psk.hex(),
        "receiver_scalar": ephemerals["receiver"].hex(), "giver_scalar": ephemerals["giver"].hex(),
        "message1": receiver.message1.hex(), "message2": message2.hex(), "hash": result.handshake_hash.hex(),
        "to_giver": result.client_to_phone.hex(), "to_receiver": result.phone_to_client.hex(),
        "frame_to_giver": channel.Channel(result.client_to_phone, result.phone_to_client).seal(
            bytes([channel.JSON]) + transfer_wire.pad(b'{"type":"hello"}')
        ).hex(),
    }


def frame(length):
    body = transfer_wire.pad(b"x" * length)
    return {"length": length, "padded": len(body), "frame": len(channel.pad(b"\3" + body)) + 16}


def main():
    valid, invalid = codes()
    lengths = (0, 1, 2, 509, 510, 511, 1022, 1023, transfer_wire.LONGEST_OBJECT - 1, transfer_wire.LONGEST_OBJECT)
    document = {
        "about": {
            "source": "computed by Tests/Counterparts/transfer_wire_vectors.py with Python and its package cryptography",
        },
        "codes": valid,
        "refused_codes": invalid,
        "sessions": [handshake("a", 0), handshake("h", 266)],
        "frames": [frame(length) for length in lengths],
        "longest": transfer_wire.LONGEST_OBJECT,
    }
    print(json.dumps(document, indent=1))


if __name__ == "__main__":
    main()
