#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""python-fido2 as a client of the security key: reports on standard input and output, results as exit status.

The other side plays the user and the phone: it confirms every window, signs at once for every relying party but
"wait.example", and has each credential that it created.
"""
import hashlib, os, sys, threading, time

from fido2.cose import ES256
from fido2.ctap import CtapError
from fido2.ctap2 import Ctap2
from fido2.hid import CAPABILITY, CtapHidDevice
from fido2.hid.base import CtapHidConnection, HidDescriptor

ES256_ONLY = [{"type": "public-key", "alg": ES256.ALGORITHM}]
HASH = hashlib.sha256(b"client data").digest()
PROBE = hashlib.sha256(b"").digest()


class Pipes(CtapHidConnection):
    def read_packet(self):
        packet = b""
        while len(packet) < 64:
            part = os.read(0, 64 - len(packet))
            assert part, "the device is gone"
            packet += part
        return packet

    def write_packet(self, data):
        assert len(data) == 64 and os.write(1, data) == 64

    def close(self):
        pass


def refusal(request):
    """Returns the status with which a request fails."""
    try:
        request()
    except CtapError as error:
        return error.code
    raise AssertionError("the request succeeded")


def create(ctap, relying_party, exclude=None, **options):
    user = {"id": os.urandom(16), "name": "ada"}
    return ctap.make_credential(HASH, {"id": relying_party}, user, ES256_ONLY, exclude, **options)


def descriptor(credential):
    return {"type": "public-key", "id": credential, "transports": ["usb"]}


device = CtapHidDevice(HidDescriptor("pipes", 0, 0, 64, 64, "key", "1"), Pipes())
assert device.version == 2 and device.capabilities == CAPABILITY.CBOR | CAPABILITY.NMSG
for length in (0, 57, 58, 7609):
    message = os.urandom(length)
    assert device.ping(message) == message
device.lock(0)
assert refusal(device.wink) == CtapError.ERR.INVALID_COMMAND

ctap = Ctap2(device)
assert ctap.info.versions == ["FIDO_2_0", "FIDO_2_1"] and ctap.info.transports == ["usb"]
assert ctap.info.options == {"rk": True, "up": True, "uv": True, "plat": False}
assert (ctap.info.max_msg_size, ctap.info.max_creds_in_list, ctap.info.max_cred_id_length) == (7609, 64, 1023)

# Registration and sign-in.
keys = [create(ctap, "example.com").auth_data.credential_data for _ in range(2)]
for key in keys:
    allowed = [descriptor(b"unknown"), descriptor(key.credential_id)]
    assertion = ctap.get_assertion("example.com", HASH, allowed)
    assertion.verify(HASH, key.public_key)
    assert assertion.credential["id"] == key.credential_id and assertion.auth_data.is_user_verified()
    assert assertion.number_of_credentials is None and not assertion.user_selected

# An exclude list.
excluded = [descriptor(keys[0].credential_id)]
assert refusal(lambda: create(ctap, "example.com", excluded)) == CtapError.ERR.CREDENTIAL_EXCLUDED

# Several silent assertions.
ids = [b"\1", b"\2", keys[0].credential_id]
probe = ctap.get_assertions("example.com", PROBE, list(map(descriptor, ids)), options={"up": False})
assert [answer.credential["id"] for answer in probe] == ids
assert not any(answer.auth_data.is_user_present() for answer in probe)
assert refusal(ctap.get_next_assertion) == CtapError.ERR.NOT_ALLOWED
app_id = lambda: ctap.get_assertion("https://example.com", PROBE, [descriptor(b"\1")], options={"up": False})
assert refusal(app_id) == CtapError.ERR.NO_CREDENTIALS

# A local relying party, and commands that need no phone.
ssh = create(ctap, "ssh:").auth_data.credential_data
ctap.get_assertion("ssh:", HASH, [descriptor(ssh.credential_id)]).verify(HASH, ssh.public_key)
ctap.selection()
assert refusal(lambda: ctap.client_pin(2, 2)) == CtapError.ERR.INVALID_COMMAND

# Keepalives, and a cancellation after the third one.
cancel, seen = threading.Event(), []
threading.Timer(0.25, cancel.set).start()
waiting = lambda: create(ctap, "wait.example", event=cancel, on_keepalive=seen.append)
assert refusal(waiting) == CtapError.ERR.KEEPALIVE_CANCEL
assert seen == [2]
assert device.ping(b"still there") == b"still there"
