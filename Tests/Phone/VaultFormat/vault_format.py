#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads and writes vaults according to docs/vault.md, independently of the program and its libraries.

    vault_format.py write DIR            the test vector: DIR/vault and DIR/backup, always the same bytes
    vault_format.py read VAULT SECRET    the contents of a vault in JSON; SECRET is a passphrase or a recovery code
    vault_format.py backup FILE SECRET   the same for a backup

Needs Python 3.9 and `cryptography`.
"""
import hashlib
import hmac
import json
import os
import struct
import sys

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

FORMAT = struct.pack(">H", 1)
ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


class Refused(Exception):
    """The input does not conform to the format."""


def hkdf(key, salt, info, length=32):
    extracted = hmac.new(salt, key, hashlib.sha256).digest()
    okm, block, counter = b"", b"", 1
    while len(okm) < length:
        block = hmac.new(extracted, block + info + bytes([counter]), hashlib.sha256).digest()
        okm, counter = okm + block, counter + 1
    return okm[:length]


def seal(key, nonce, plaintext, aad):
    return nonce + AESGCM(key).encrypt(nonce, plaintext, aad)


def unseal(key, sealed, aad):
    try:
        return AESGCM(key).decrypt(sealed[:12], sealed[12:], aad)
    except Exception as error:
        raise Refused("does not open") from error


# The subset of CBOR that a vault uses (RFC 8949, keys in CTAP2 order).


def encode(value):
    def head(major, number):
        if number < 24:
            return bytes([major << 5 | number])
        for info, width in ((24, 1), (25, 2), (26, 4), (27, 8)):
            if number < 1 << (8 * width):
                return bytes([major << 5 | info]) + number.to_bytes(width, "big")
        raise ValueError(number)

    if isinstance(value, bool):
        return b"\xf5" if value else b"\xf4"
    if isinstance(value, int):
        return head(0, value) if value >= 0 else head(1, -1 - value)
    if isinstance(value, bytes):
        return head(2, len(value)) + value
    if isinstance(value, str):
        return head(3, len(value.encode())) + value.encode()
    if isinstance(value, list):
        return head(4, len(value)) + b"".join(encode(item) for item in value)
    pairs = sorted(((encode(key), encode(item)) for key, item in value.items()), key=lambda pair: (len(pair[0]), pair[0]))
    return head(5, len(pairs)) + b"".join(key + item for key, item in pairs)


def decode(data):
    value, rest = decode_item(data)
    if rest:
        raise Refused("data after the CBOR")
    return value


def decode_item(data):
    major, info, rest = data[0] >> 5, data[0] & 31, data[1:]
    if major == 7:
        return {20: False, 21: True}[info], rest
    if info >= 24:
        width = 1 << (info - 24)
        info, rest = int.from_bytes(rest[:width], "big"), rest[width:]
    if major == 0:
        return info, rest
    if major == 1:
        return -1 - info, rest
    if major in (2, 3):
        if len(rest) < info:
            raise Refused("CBOR too short")
        return (rest[:info] if major == 2 else rest[:info].decode()), rest[info:]
    items = {} if major == 5 else []
    for _ in range(info):
        item, rest = decode_item(rest)
        if major == 4:
            items.append(item)
        else:
            items[item], rest = decode_item(rest)
    return items, rest


def pad(kind, members):
    body = encode(members)
    plaintext = bytes([kind]) + struct.pack(">I", len(body)) + body
    return plaintext + bytes(-len(plaintext) % 512)


def unpad(plaintext):
    kind, length = plaintext[0], struct.unpack(">I", plaintext[1:5])[0]
    if len(plaintext) != (5 + length + 511) // 512 * 512 or any(plaintext[5 + length :]):
        raise Refused("padding")
    return kind, decode(plaintext[5 : 5 + length])


class Vault:
    """The identity of a vault and everything derived from it."""

    def __init__(self, vault_id, test=False):
        self.id = vault_id
        self.identity = FORMAT + vault_id + bytes([test])
        self.test = test

    def derive(self, key, info):
        return hkdf(key, self.id, info)

    def key_id(self, key):
        return self.derive(key, b"key id v1")[:16]

    def json(self):
        test = "true" if self.test else "false"
        return ('{"format":1,"vault":"%s","test":%s}\n' % (self.id.hex(), test)).encode()

    # Slots

    def wrapping_key(self, kind, secret, log_n, p, salt):
        stretched = hashlib.scrypt(secret, salt=salt, n=1 << log_n, r=8, p=p, maxmem=(1 << 31) - 1024, dklen=32)
        return self.derive(stretched, {2: b"slot v1 passphrase", 3: b"slot v1 recovery"}[kind])

    def slot(self, kind, secret, key, slot_id, salt, nonce, log_n=15):
        header = b"HYBVSLOT" + FORMAT + bytes([kind]) + self.id + bytes([self.test]) + slot_id + self.key_id(key)
        header += bytes([log_n, 8, 1]) + salt
        body = header + seal(self.wrapping_key(kind, secret, log_n, 1, salt), nonce, key, header)
        body += hmac.new(self.derive(key, b"slot v1 made"), body, hashlib.sha256).digest()
        return body + hashlib.sha256(body).digest()

    def open_slot(self, data, kind, secret):
        if len(data) != 219 or hashlib.sha256(data[:-32]).digest() != data[-32:] or data[:10] != b"HYBVSLOT" + FORMAT:
            raise Refused("not a slot")
        if data[10] != kind or data[11:27] != self.id:
            raise Refused("another slot")
        log_n, r, p = data[60:63]
        if not 15 <= log_n <= 20 or r != 8 or not 1 <= p <= 4:
            raise Refused("cost")
        key = unseal(self.wrapping_key(kind, secret, log_n, p, data[63:95]), data[95:155], data[:95])
        if hmac.new(self.derive(key, b"slot v1 made"), data[:155], hashlib.sha256).digest() != data[155:187]:
            raise Refused("slot MAC")
        if self.key_id(key) != data[44:60]:
            raise Refused("key ID")
        return key

    # Links between keys

    def link(self, old, new, nonce):
        header = b"HYBKEYLN" + self.identity + self.key_id(new) + self.key_id(old)
        body = header + seal(self.derive(new, b"key link v1"), nonce, old, header)
        return body + hmac.new(self.derive(old, b"key link v1 announced"), body, hashlib.sha256).digest()

    def open_link(self, data, new):
        if len(data) != 151 or data[:27] != b"HYBKEYLN" + self.identity or data[27:43] == data[43:59]:
            raise Refused("not a link")
        if data[27:43] != self.key_id(new):
            raise Refused("another link")
        old = unseal(self.derive(new, b"key link v1"), data[59:119], data[:59])
        announced = hmac.new(self.derive(old, b"key link v1 announced"), data[:119], hashlib.sha256).digest()
        if announced != data[119:] or self.key_id(old) != data[43:59]:
            raise Refused("link MAC")
        return old

    # Records

    def record(self, key, record_id, counter, device, kind, members, nonce):
        fields = record_id + struct.pack(">Q", counter) + device
        sealed = seal(
            self.derive(key, b"record v1" + fields), nonce, pad(kind, members), b"record v1" + self.identity + fields
        )
        return b"HYBRECRD" + FORMAT + fields + sealed

    def open_record(self, data, keys):
        if data[:10] != b"HYBRECRD" + FORMAT or len(data) > 256 * 1024:
            raise Refused("not a record")
        fields = data[10:42]
        for index, key in enumerate(keys):
            try:
                plaintext = unseal(
                    self.derive(key, b"record v1" + fields), data[42:], b"record v1" + self.identity + fields
                )
            except Refused:
                continue
            counter, device = struct.unpack(">Q", fields[16:24])[0], fields[24:32]
            return index, fields[:16], (counter, device), unpad(plaintext)
        raise Refused("a record that does not open")

    # Histories

    def uses_file(self, key, device, segment, uses, nonces):
        data = b"HYBUSESF" + FORMAT + device + struct.pack(">I", segment)
        for index, (use, nonce) in enumerate(zip(uses, nonces)):
            aad = b"use v1" + self.identity + device + struct.pack(">II", segment, index)
            data += seal(self.derive(key, b"use v1"), nonce, pad(1, use), aad)
        return data

    def open_uses(self, data, key):
        if data[:10] != b"HYBUSESF" + FORMAT:
            raise Refused("not a history")
        device, segment = data[10:18], data[18:22]
        uses = []
        for index in range((len(data) - 22) // 540):
            entry = data[22 + 540 * index : 22 + 540 * (index + 1)]
            aad = b"use v1" + self.identity + device + segment + struct.pack(">I", index)
            uses.append(unpad(unseal(self.derive(key, b"use v1"), entry, aad))[1])
        return uses

    # Backups

    def backup(self, key, slots, files, nonce):
        header = b"HYBBACKP" + self.identity + self.key_id(key) + bytes([len(slots)]) + b"".join(slots)
        plaintext = b""
        for path, content in files:
            plaintext += struct.pack(">H", len(path)) + path.encode() + struct.pack(">I", len(content)) + content
        plaintext += bytes(-len(plaintext) % 4096)
        return header + seal(self.derive(key, b"backup v1"), nonce, plaintext, header)


    # The local state

    def pin_wrapping_key(self, pin, secret, log_n, p, salt):
        stretched = hashlib.scrypt(pin.encode(), salt=salt, n=1 << log_n, r=8, p=p, maxmem=(1 << 31) - 1024, dklen=32)
        return self.derive(stretched + secret, b"slot v1 pin")

    def local_state(self, key, pin, device, seen, log_n=15):
        """Returns the local state as name → content; `seen` is record → (counter, device, deleted)."""
        secret, salt = os.urandom(32), os.urandom(32)
        header = b"HYBPINSL" + FORMAT + b"\x01" + self.id + bytes([self.test]) + device + bytes([log_n, 8, 1]) + salt
        slot = header + seal(self.pin_wrapping_key(pin, secret, log_n, 1, salt), os.urandom(12), key, header)
        entries = b"".join(r + struct.pack(">Q", c) + d + bytes([x]) for r, (c, d, x) in sorted(seen.items()))
        aad = b"seen v1" + self.identity
        checked = {
            "pin": slot,
            "device": b"HYBDEVIC" + FORMAT + device + secret,
            "attempts": b"HYBTRIES" + FORMAT + bytes(12),
        }
        state = {name: content + hashlib.sha256(content).digest() for name, content in checked.items()}
        state["seen"] = b"HYBSEENR" + seal(self.derive(key, b"seen v1"), os.urandom(12), entries, aad)
        return state

    def open_pin(self, slot, device, pin):
        """Returns the vault key from a PIN slot and the device file."""
        for data, length in ((slot, 163), (device, 82)):
            if len(data) != length or hashlib.sha256(data[:-32]).digest() != data[-32:]:
                raise Refused("a damaged file of the local state")
        if slot[:11] != b"HYBPINSL" + FORMAT + b"\x01" or slot[11:27] != self.id or slot[28:36] != device[10:18]:
            raise Refused("another PIN slot")
        log_n, r, p = slot[36:39]
        if not 15 <= log_n <= 20 or r != 8 or not 1 <= p <= 4:
            raise Refused("cost")
        return unseal(self.pin_wrapping_key(pin, device[18:50], log_n, p, slot[39:71]), slot[71:131], slot[:71])


def recovery_secret(text):
    """Returns the 16 bytes of a recovery code; None if the text is not one."""
    letters = [c for c in text.upper().replace("O", "0").replace("I", "1").replace("L", "1") if c not in " -"]
    if len(letters) != 30 or any(c not in ALPHABET for c in letters):
        return None
    number = 0
    for letter in letters:
        number = number << 5 | ALPHABET.index(letter)
    code = (number >> 22).to_bytes(16, "big")
    # With a wrong checksum it may be a passphrase that looks like a code.
    return code if recovery_text(code).replace("-", "") == "".join(letters) else None


def recovery_text(code):
    checksum = int.from_bytes(hashlib.sha256(b"recovery code v1" + code).digest()[:3], "big") >> 2
    number = int.from_bytes(code, "big") << 22 | checksum
    text = "".join(ALPHABET[number >> shift & 31] for shift in range(145, -1, -5))
    return "-".join(text[i : i + 5] for i in range(0, 30, 5))


def open_any(vault, slots, secret):
    code = recovery_secret(secret)
    kind, secret = (3, code) if code else (2, secret.encode())
    for slot in slots:
        try:
            return vault.open_slot(slot, kind, secret)
        except Refused:
            continue
    raise Refused("no slot opens")


def describe(vault, files, key):
    """Returns the contents of a vault from its files (path → content)."""
    keys, reached = [key], 0
    # Each key leads to its predecessors, in any order of the links.
    while reached < len(keys):
        for path in sorted(files):
            if path.startswith("keys/"):
                try:
                    old = vault.open_link(files[path], keys[reached])
                except Refused:
                    continue
                if old not in keys:
                    keys.append(old)
        reached += 1
    records = {}
    for path in sorted(files):
        if not path.startswith("records/"):
            continue
        index, record, revision, (kind, body) = vault.open_record(files[path], keys)
        if index > 0:
            continue
        order = (kind == 2, revision, files[path][42:54])
        if record not in records or order > records[record][0]:
            records[record] = (order, kind, body)
    passkeys = [body for _, kind, body in records.values() if kind == 1]
    uses = []
    for path in sorted(files):
        if path.startswith("uses/"):
            uses += vault.open_uses(files[path], key)
    return {
        "vault": vault.id.hex(),
        "keys": len(keys),
        "passkeys": sorted(
            (
                {"rp": p["rp"], "user": p["user"]["name"], "id": p["id"].hex(), "key": p["key"].hex(), "order": p["order"],
                 "signs": p.get("signs")}
                for p in passkeys
            ),
            key=lambda p: (p["rp"], p["user"]),
        ),
        "deleted": sum(kind == 2 for _, kind, _ in records.values()),
        "uses": [{"at": u["at"], "rp": u["rp"], "op": u["op"], "end": u["end"]} for u in uses],
    }


def read_files(path):
    """Returns the vault and its files, path → content."""
    text = open(os.path.join(path, "vault.json"), "rb").read()
    parsed = json.loads(text)
    vault = Vault(bytes.fromhex(parsed["vault"]), parsed["test"])
    if vault.json() != text:
        raise Refused("vault.json")
    files = {}
    for folder, _, names in os.walk(path):
        for name in names:
            if not name.startswith("."):
                full = os.path.join(folder, name)
                files[os.path.relpath(full, path)] = open(full, "rb").read()
    return vault, files


def read_vault(path, secret):
    vault, files = read_files(path)
    key = open_any(vault, [files[p] for p in sorted(files) if p.startswith("slots/")], secret)
    return describe(vault, files, key)


def read_with_pin(path, state, pin):
    """Returns the contents of a vault, opened with the PIN and the local state (a directory per vault below `state`)."""
    vault, files = read_files(path)
    slot, device = (open(os.path.join(state, vault.id.hex(), name), "rb").read() for name in ("pin", "device"))
    return describe(vault, files, vault.open_pin(slot, device, pin))


def read_backup(path, secret):
    data = open(path, "rb").read()
    if data[:10] != b"HYBBACKP" + FORMAT:
        raise Refused("not a backup")
    vault = Vault(data[10:26], bool(data[26]))
    length = 44 + 219 * data[43]
    slots = [data[44 + 219 * i : 44 + 219 * (i + 1)] for i in range(data[43])]
    key = open_any(vault, slots, secret)
    if vault.key_id(key) != data[27:43]:
        raise Refused("key ID")
    plaintext = unseal(vault.derive(key, b"backup v1"), data[length:], data[:length])
    files, position = {}, 0
    while position + 2 <= len(plaintext):
        size = struct.unpack(">H", plaintext[position : position + 2])[0]
        if size == 0:
            break
        name = plaintext[position + 2 : position + 2 + size].decode()
        position += 2 + size
        size = struct.unpack(">I", plaintext[position : position + 4])[0]
        files[name] = plaintext[position + 4 : position + 4 + size]
        position += 4 + size
    return describe(vault, files, key)


# The test vector.

PASSPHRASE = "correct horse battery staple orbit"
CODE = bytes(range(0xF0, 0x100))


def write(target):
    def nonces():
        number = 0
        while True:
            number += 1
            yield hashlib.sha256(b"nonce %d" % number).digest()[:12]

    nonce = nonces()
    vault = Vault(bytes(range(0x20, 0x30)))
    old, key = bytes(range(0x40, 0x60)), bytes(range(0x00, 0x20))
    here, there = bytes(range(0x40, 0x48)), bytes(range(0x48, 0x50))
    files, current = {}, {}

    def passkey(number, rp, name, order):
        return {
            "id": bytes([number]) * 16, "rp": rp, "alg": -7, "key": bytes(31) + bytes([number]), "be": True,
            "order": order, "created": 1700000000 + number,
            "user": {"id": bytes([number]), "name": name, "displayName": name.title()},
        }

    def record(number, counter, device, kind, members, under=key, suffix="", is_current=True):
        record_id = bytes([number]) * 16
        path = "records/%s/%d-%s" % (record_id.hex(), counter, device.hex())
        files[path + suffix] = vault.record(under, record_id, counter, device, kind, members, next(nonce))
        if is_current:
            # A backup has the current revisions under the names of their headers.
            current[path] = files[path + suffix]

    record(1, 1, here, 1, passkey(1, "example.com", "ada", 1), old, is_current=False)
    record(1, 2, here, 1, passkey(1, "example.com", "ada", 1), is_current=False)
    record(1, 3, there, 1, passkey(1, "example.com", "lovelace", 1), suffix=".sync-conflict-20260101-101010-ABCDEFG")
    # An SSH key.
    record(2, 1, here, 1, {**passkey(2, "example.org", "bob", 2), "signs": "ssh"})
    record(3, 9, here, 1, passkey(3, "example.com", "deleted", 3), is_current=False)
    record(3, 2, there, 2, {})
    files["keys/%s-%s" % (vault.key_id(key).hex(), vault.key_id(old).hex())] = vault.link(old, key, next(nonce))
    slots = []
    for number, kind, secret in ((0xA0, 2, PASSPHRASE.encode()), (0xB0, 3, CODE)):
        slot_id, salt = bytes(range(number, number + 16)), bytes(range(number - 0x40, number - 0x20))
        slots.append(vault.slot(kind, secret, key, slot_id, salt, next(nonce)))
        files["slots/" + slot_id.hex()] = slots[-1]
    use = {"at": 1700000100, "rp": "example.com", "op": "create", "end": "done", "record": bytes([1]) * 16}
    declined = {"at": 1700000200, "rp": "example.org", "op": "sign-in", "end": "declined"}
    uses = vault.uses_file(key, here, 1, [use, declined], [next(nonce), next(nonce)])
    files["uses/%s/1" % here.hex()] = uses
    for path, content in {**files, "vault.json": vault.json()}.items():
        place = os.path.join(target, "vault", path)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "wb") as file:
            file.write(content)
    current.update((path, content) for path, content in files.items() if not path.startswith("records/"))
    with open(os.path.join(target, "backup"), "wb") as file:
        file.write(vault.backup(key, slots, sorted(current.items()), next(nonce)))


def main(arguments):
    try:
        if len(arguments) == 2 and arguments[0] == "write":
            return write(arguments[1])
        readers = {"read": read_vault, "backup": read_backup}
        if len(arguments) == 3 and arguments[0] in readers:
            return print(json.dumps(readers[arguments[0]](*arguments[1:]), indent=1))
        sys.exit(__doc__)
    except Refused as refusal:
        sys.exit("refused: %s" % refusal)


if __name__ == "__main__":
    main(sys.argv[1:])
