# SPDX-License-Identifier: Apache-2.0
"""Prints the password of a purpose from the copy of a key: derive.py COPY PURPOSE"""
import base64
import hmac
import sys

letters = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
line = next(line for line in open(sys.argv[1]) if line.startswith("AGE-SECRET-KEY-1"))
number = 0
# Bech32: 32 bytes are 52 letters, and the last six are a checksum.
for letter in line.strip().lower().rpartition("1")[2][:52]:
    number = number << 5 | letters.index(letter)
key = (number >> 4).to_bytes(32, "big")
# HKDF-SHA-256 (RFC 5869)
pseudorandom = hmac.digest(bytes(32), key, "sha256")
secret = hmac.digest(pseudorandom, b"hybrid-key secret v1\0" + sys.argv[2].encode() + b"\1", "sha256")
print(base64.urlsafe_b64encode(secret).decode().rstrip("="))
