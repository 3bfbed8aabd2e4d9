# SPDX-License-Identifier: Apache-2.0
"""Text of a QR code: `FIDO:/` and decimal digits that encode a CBOR map."""
from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric import ec

import cbor

SCHEME = "FIDO:/"
# Number of digits for 0 to 7 bytes.
WIDTHS = (0, 3, 5, 8, 10, 13, 15, 17)


@dataclass
class Offer:
    """Content of a code."""

    client_key: ec.EllipticCurvePublicKey
    secret: bytes
    domains: int
    created: int | None
    linking: bool | None
    hint: str
    # Key 6 as received; None if it is missing.
    channels: object
    # The whole map, and the bytes it was decoded from.
    fields: dict
    encoded: bytes


def to_digits(data):
    chunks = (data[start : start + 7] for start in range(0, len(data), 7))
    return "".join(str(int.from_bytes(chunk, "little")).zfill(WIDTHS[len(chunk)]) for chunk in chunks)


def from_digits(text):
    """Returns the bytes; raises ValueError if the digits are invalid."""
    data = b""
    for start in range(0, len(text), WIDTHS[7]):
        chunk = text[start : start + WIDTHS[7]]
        if len(chunk) not in WIDTHS or not (chunk.isascii() and chunk.isdigit()):
            raise ValueError("no such digits")
        size, value = WIDTHS.index(len(chunk)), int(chunk)
        if value >= 1 << 8 * size:
            raise ValueError("digits out of range")
        data += value.to_bytes(size, "little")
    return data


def text(fields):
    """Returns the text for any map."""
    return SCHEME + to_digits(cbor.canonical(fields))


def parse(code):
    """Parses a code; raises ValueError if it is invalid."""
    if code[: len(SCHEME)].upper() != SCHEME:
        raise ValueError("not a FIDO code")
    data = from_digits(code[len(SCHEME) :])
    fields = cbor.read(data)
    if not isinstance(fields, dict):
        raise ValueError("not a map")
    point, secret = fields.get(0), fields.get(1)
    if not isinstance(point, bytes) or len(point) != 33 or not isinstance(secret, bytes) or len(secret) != 16:
        raise ValueError("keys 0 and 1 are not a compressed point and 16 bytes")
    for key, kind in ((2, int), (4, bool), (5, str)):
        if key in fields and (not isinstance(fields[key], kind) or (kind is int and isinstance(fields[key], bool))):
            raise ValueError(f"key {key} is not of its type")
    return Offer(
        client_key=ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point),
        secret=secret,
        domains=fields.get(2, 0),
        created=fields.get(3),
        linking=fields.get(4),
        hint=fields.get(5, "ga"),
        channels=fields.get(6),
        fields=fields,
        encoded=data,
    )
