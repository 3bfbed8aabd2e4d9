# SPDX-License-Identifier: Apache-2.0
"""Keys derived from the QR secret, the encrypted advert, and host names of relays."""
import hashlib, hmac

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

ASSIGNED_HOSTS = ("cable.ua5v.com", "cable.auth.com")


def derive(secret, salt, purpose, length):
    return expand(secret, salt, purpose.to_bytes(4, "little"), length)


def expand(secret, salt, info, length):
    return HKDF(hashes.SHA256(), length, salt or None, info).derive(secret)


def eid_key(secret, client_nonce=b""):
    return derive(secret, client_nonce, 1, 64)


def tunnel_id(secret):
    return derive(secret, b"", 2, 16)


def psk(secret, eid):
    return derive(secret, eid, 3, 32)


def host(domain):
    """Returns a relay's host name; raises ValueError for unassigned numbers."""
    if domain < 256:
        if domain >= len(ASSIGNED_HOSTS):
            raise ValueError(f"tunnel domain {domain} is not assigned")
        return ASSIGNED_HOSTS[domain]
    digest = hashlib.sha256(b"caBLEv2 tunnel server domain" + domain.to_bytes(2, "little") + b"\0").digest()
    value = int.from_bytes(digest[:8], "little")
    top_level = ("com", "org", "net", "info")[value & 3]
    value >>= 2
    label = ""
    while value:
        label += "abcdefghijklmnopqrstuvwxyz234567"[value & 31]
        value >>= 5
    return f"cable.{label}.{top_level}"


def eid_plaintext(nonce, routing_id, domain):
    assert len(nonce) == 10 and len(routing_id) == 3
    return b"\0" + nonce + routing_id + domain.to_bytes(2, "little")


def seal_eid(plaintext, key):
    """Returns the advert's 20 bytes."""
    encryptor = Cipher(algorithms.AES(key[:32]), modes.ECB()).encryptor()
    ciphertext = encryptor.update(plaintext) + encryptor.finalize()
    return ciphertext + _tag(ciphertext, key)


def open_eid(advert, key):
    """Returns the EID; None if the advert does not match this key or is invalid."""
    if len(advert) != 20:
        return None
    ciphertext, tag = advert[:16], advert[16:]
    if not hmac.compare_digest(tag, _tag(ciphertext, key)):
        return None
    decryptor = Cipher(algorithms.AES(key[:32]), modes.ECB()).decryptor()
    plaintext = decryptor.update(ciphertext) + decryptor.finalize()
    usable = plaintext[0] == 0 and (eid_domain(plaintext) < len(ASSIGNED_HOSTS) or eid_domain(plaintext) >= 256)
    return plaintext if usable else None


def eid_routing_id(plaintext):
    return plaintext[11:14]


def eid_domain(plaintext):
    return int.from_bytes(plaintext[14:16], "little")


def _tag(ciphertext, key):
    return hmac.new(key[32:], ciphertext, hashlib.sha256).digest()[:4]
