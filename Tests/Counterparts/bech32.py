# SPDX-License-Identifier: Apache-2.0
"""Bech32 (BIP 173) without its limit of 90 characters, as age uses it."""
ALPHABET = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
GENERATOR = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)


def encode(prefix, data):
    """Returns the text in lower case; age writes identities in upper case."""
    prefix = prefix.lower()
    values = _regroup(data, 8, 5, pad=True)
    check = _checksum(_expanded(prefix) + values + [0] * 6) ^ 1
    values += [check >> 5 * (5 - place) & 31 for place in range(6)]
    return prefix + "1" + "".join(ALPHABET[value] for value in values)


def decode(text):
    """Returns prefix and bytes; raises ValueError for anything that `encode` would not write in one case."""
    if text not in (text.lower(), text.upper()):
        raise ValueError("upper and lower case are mixed")
    text = text.lower()
    prefix, separator, rest = text.rpartition("1")
    if not separator or not prefix or len(rest) < 6:
        raise ValueError("no separator, prefix or checksum")
    if any(not 33 <= ord(character) <= 126 for character in prefix) or any(c not in ALPHABET for c in rest):
        raise ValueError("a character that Bech32 does not have")
    values = [ALPHABET.index(character) for character in rest]
    if _checksum(_expanded(prefix) + values) != 1:
        raise ValueError("another checksum")
    return prefix, bytes(_regroup(values[:-6], 5, 8, pad=False))


def decode_as(prefix, text):
    """Returns the bytes of a text with this prefix."""
    found, data = decode(text)
    if found != prefix.lower():
        raise ValueError(f"another prefix: {found}")
    return data


def _expanded(prefix):
    return [ord(character) >> 5 for character in prefix] + [0] + [ord(character) & 31 for character in prefix]


def _checksum(values):
    check = 1
    for value in values:
        top = check >> 25
        check = (check & 0x1FFFFFF) << 5 ^ value
        for place in range(5):
            if top >> place & 1:
                check ^= GENERATOR[place]
    return check


def _regroup(values, width, wanted, pad):
    """Returns the same bits in groups of another width."""
    bits, count, groups = 0, 0, []
    for value in values:
        bits, count = bits << width | value, count + width
        while count >= wanted:
            count -= wanted
            groups.append(bits >> count & (1 << wanted) - 1)
        bits &= (1 << count) - 1
    if pad and count:
        groups.append(bits << wanted - count & (1 << wanted) - 1)
    elif not pad and (count >= width or bits):
        raise ValueError("padding that is too long or not zero")
    return groups
