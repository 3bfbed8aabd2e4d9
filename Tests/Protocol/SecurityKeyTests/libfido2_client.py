#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""libfido2, the library of ssh and pam_u2f, as a client of the security key, with its own functions for reports.

Reports are exchanged on standard input and output; the exit status is the result. The other side is the same as in
fido2_client.py.
"""
import ctypes, hashlib, os, threading, time
from ctypes import CFUNCTYPE, POINTER, byref, c_char_p, c_int, c_size_t, c_void_p, string_at

library = ctypes.CDLL("libfido2.so.1")
HASH = hashlib.sha256(b"client data").digest()
PROBE = hashlib.sha256(b"").digest()
ES256, FALSE, TRUE = -7, 1, 2

Open = CFUNCTYPE(c_void_p, c_char_p)
Close = CFUNCTYPE(None, c_void_p)
Read = CFUNCTYPE(c_int, c_void_p, c_void_p, c_size_t, c_int)
Write = CFUNCTYPE(c_int, c_void_p, c_void_p, c_size_t)


class Functions(ctypes.Structure):
    _fields_ = [("open", Open), ("close", Close), ("read", Read), ("write", Write)]


def read(_, buffer, length, timeout):
    packet = b""
    while len(packet) < length:
        packet += os.read(0, length - len(packet))
    ctypes.memmove(buffer, packet, length)
    return length


def write(_, buffer, length):
    # The first byte is the report number, which the kernel removes.
    data = string_at(buffer, length)
    assert length == 65 and data[0] == 0
    return os.write(1, data[1:]) + 1


def call(name, *arguments, result=c_int):
    """Calls a function; bytes and integers are converted, pointers are c_void_p."""
    function = library[name]
    function.restype = result
    return function(*arguments)


def pointer(name, *arguments):
    return c_void_p(call(name, *arguments, result=c_void_p))


def check(name, *arguments):
    status = call(name, *arguments)
    assert status == 0, f"{name}: {status:#x}"


def content(name, *arguments):
    """Returns the bytes of a pair of functions for pointer and length."""
    start = pointer(f"fido_{name}_ptr", *arguments)
    return string_at(start, call(f"fido_{name}_len", *arguments, result=c_size_t))


def create(relying_party, excluded=()):
    """Returns the status of a registration and the credential."""
    credential = pointer("fido_cred_new")
    check("fido_cred_set_type", credential, ES256)
    check("fido_cred_set_clientdata_hash", credential, HASH, c_size_t(32))
    check("fido_cred_set_rp", credential, relying_party, None)
    # OpenSSH's user handle.
    check("fido_cred_set_user", credential, bytes(32), c_size_t(32), b"openssh", b"openssh", None)
    for one in excluded:
        check("fido_cred_exclude", credential, one, c_size_t(len(one)))
    return call("fido_dev_make_cred", device, credential, None), credential


def sign(relying_party, allowed, client_data_hash=HASH, presence=TRUE):
    """Returns the status of a sign-in and the assertion."""
    assertion = pointer("fido_assert_new")
    check("fido_assert_set_rp", assertion, relying_party)
    check("fido_assert_set_clientdata_hash", assertion, client_data_hash, c_size_t(32))
    check("fido_assert_set_up", assertion, presence)
    for one in allowed:
        check("fido_assert_allow_cred", assertion, one, c_size_t(len(one)))
    return call("fido_dev_get_assert", device, assertion, None), assertion


call("fido_init", 0, result=None)
functions = Functions(Open(lambda path: 1), Close(lambda handle: None), Read(read), Write(write))
device = pointer("fido_dev_new")
check("fido_dev_set_io_functions", device, byref(functions))
check("fido_dev_open", device, b"pipes")
assert call("fido_dev_is_fido2", device, result=ctypes.c_bool)
assert not call("fido_dev_has_pin", device, result=ctypes.c_bool)

# Registration and sign-in, for a website and as ssh does.
ids = []
for relying_party in (b"example.com", b"ssh:", b"ssh:"):
    status, credential = create(relying_party)
    assert status == 0, status
    ids.append(content("cred_id", credential))
    point = content("cred_pubkey", credential)
    status, assertion = sign(relying_party, [ids[-1]])
    assert status == 0, status
    key = pointer("es256_pk_new")
    check("es256_pk_from_ptr", key, point, c_size_t(len(point)))
    check("fido_assert_set_uv", assertion, TRUE)
    check("fido_assert_verify", assertion, c_size_t(0), ES256, key)

assert create(b"example.com", excluded=ids[:1])[0] == 0x19

# Several silent assertions; a real signature without presence, and an unknown credential.
listed = [b"\1", b"\2", ids[0]]
status, assertion = sign(b"example.com", listed, PROBE, FALSE)
assert status == 0 and call("fido_assert_count", assertion, result=c_size_t) == 3
assert [content("assert_id", assertion, c_size_t(index)) for index in range(3)] == listed
assert sign(b"ssh:", ids[1:2], HASH, FALSE)[0] == 0x2B
assert sign(b"example.com", [b"\1"])[0] == 0x2E

# Selection of a key by touch.
touched = c_int(0)
check("fido_dev_get_touch_begin", device)
while not touched.value:
    check("fido_dev_get_touch_status", device, byref(touched), 1000)

# A cancellation during keepalives.
threading.Timer(0.3, lambda: check("fido_dev_cancel", device)).start()
# At its own time limit, the key says something else.
assert create(b"wait.example")[0] == 0x2D
check("fido_dev_close", device)
