# SPDX-License-Identifier: Apache-2.0
"""CBOR in CTAP2's canonical form, in a legal form that is not canonical, and a check.

cbor2 decodes. Encoding is done here, because cbor2's canonical form sorts keys of different types in another order than
CTAP2, and because a counterpart must also produce what real phones send.
"""
import io

import cbor2


def canonical(value):
    """Returns the CTAP2 canonical encoding."""
    return _encode(value, _shortest, sorted)


def loose(value):
    """Returns an encoding with numbers and lengths one size too long and map keys in reverse order."""
    return _encode(value, _too_long, lambda keys, key: sorted(keys, key=key, reverse=True))


def read(data):
    """Decodes the single value that fills `data`; raises ValueError for anything else."""
    stream = io.BytesIO(data)
    try:
        value = cbor2.CBORDecoder(stream).decode()
    except cbor2.CBORDecodeError as error:
        raise ValueError(f"not CBOR: {error}") from None
    if stream.read(1):
        raise ValueError("bytes follow the CBOR")
    return value


def read_first(data):
    """Decodes the value at the start of `data`; returns it and the remaining bytes."""
    stream = io.BytesIO(data)
    try:
        return cbor2.CBORDecoder(stream).decode(), stream.read()
    except cbor2.CBORDecodeError as error:
        raise ValueError(f"not CBOR: {error}") from None


def is_canonical(data):
    """Returns True if `data` is one value in canonical form, that is, if encoding it again gives the same bytes."""
    try:
        return canonical(read(data)) == data
    except (ValueError, TypeError):
        return False


def _shortest(major, number):
    if number < 24:
        return bytes([major << 5 | number])
    return _wide(major, number, next(size for size in (1, 2, 4, 8) if number < 1 << 8 * size))


def _too_long(major, number):
    size = 1 if number < 24 else next(size for size in (2, 4, 8) if number < 1 << 4 * size)
    return _wide(major, number, size)


def _wide(major, number, size):
    return bytes([major << 5 | {1: 24, 2: 25, 4: 26, 8: 27}[size]]) + number.to_bytes(size, "big")


def _encode(value, head, order):
    def encode(item):
        if item is False or item is True or item is None:
            return {False: b"\xf4", True: b"\xf5", None: b"\xf6"}[item]
        if isinstance(item, int):
            return head(0, item) if item >= 0 else head(1, -1 - item)
        if isinstance(item, bytes):
            return head(2, len(item)) + item
        if isinstance(item, str):
            return head(3, len(item.encode())) + item.encode()
        if isinstance(item, (list, tuple)):
            return head(4, len(item)) + b"".join(map(encode, item))
        if isinstance(item, dict):
            entries = [(encode(key), encode(value)) for key, value in item.items()]
            # Sorted by major type, then by length, then by bytes.
            entries = order(entries, key=lambda entry: (entry[0][0] >> 5, len(entry[0]), entry[0]))
            return head(5, len(item)) + b"".join(key + value for key, value in entries)
        raise TypeError(f"{type(item).__name__} has no place in CTAP")

    return encode(value)
