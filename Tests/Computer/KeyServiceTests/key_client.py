#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The helper's end of the connection, with python-fido2 as the program that uses the key.

    key_client.py SOCKET SCENARIO [ARGUMENT]

Packets on the socket carry one report each. The exit status is 0 if the scenario went as expected.
"""
import hashlib, os, socket, sys, threading, time

from fido2.cose import ES256
from fido2.ctap import CtapError
from fido2.ctap2 import Ctap2
from fido2.hid import CtapHidDevice
from fido2.hid.base import CtapHidConnection, HidDescriptor

ERR = CtapError.ERR
HASH = hashlib.sha256(b"client data").digest()
PROBE = hashlib.sha256(b"").digest()


class Packets(CtapHidConnection):
    def __init__(self, connection):
        self.connection = connection

    def read_packet(self):
        packet = self.connection.recv(100)
        assert len(packet) == 64, "the key is gone"
        return packet

    def write_packet(self, data):
        assert self.connection.send(data) == 64

    def close(self):
        self.connection.close()


def accept(path):
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(path)
    listener.listen()
    listener.settimeout(30)
    connection, _ = listener.accept()
    connection.settimeout(60)
    return connection


def create(ctap, relying_party, exclude=None, **options):
    user = {"id": os.urandom(16), "name": "ada"}
    algorithms = [{"type": "public-key", "alg": ES256.ALGORITHM}]
    rp = {"id": relying_party}
    return ctap.make_credential(HASH, rp, user, algorithms, exclude, **options).auth_data.credential_data


def descriptor(credential):
    return {"type": "public-key", "id": credential}


def refusal(request):
    """Returns the status with which a request fails."""
    try:
        request()
    except CtapError as error:
        return error.code
    raise AssertionError("the request succeeded")


def sign(ctap, relying_party, key):
    ctap.get_assertion(relying_party, HASH, [descriptor(key.credential_id)]).verify(HASH, key.public_key)


def register_and_sign_in(ctap, relying_party):
    key = create(ctap, relying_party)
    sign(ctap, relying_party, key)
    print(key.credential_id.hex())


def exclude(ctap, relying_party):
    key = create(ctap, relying_party)
    excluded = [descriptor(key.credential_id)]
    assert refusal(lambda: create(ctap, relying_party, excluded)) == ERR.CREDENTIAL_EXCLUDED


def when_asked(folder, act):
    """Calls a function once both the prompt and the phone have the request."""
    def wait():
        while not all(os.path.exists(f"{folder}/{name}") for name in ("seen", "waiting")):
            time.sleep(0.01)
        act()
    threading.Thread(target=wait, daemon=True).start()


def cancel(ctap, folder):
    event, seen = threading.Event(), []
    when_asked(folder, event.set)
    request = lambda: create(ctap, "wait.example", event=event, on_keepalive=seen.append)
    assert refusal(request) == ERR.KEEPALIVE_CANCEL
    assert seen == [2]
    assert ctap.info.versions


def refused(ctap, relying_party):
    assert refusal(lambda: create(ctap, relying_party)) == ERR.USER_ACTION_TIMEOUT
    print("refused")


def closed(ctap, relying_party):
    assert refusal(lambda: create(ctap, relying_party)) == ERR.KEEPALIVE_CANCEL


def leave(ctap, folder):
    # As if the helper had been killed.
    when_asked(folder, lambda: os._exit(0))
    create(ctap, "wait.example")


def select(ctap, _):
    ctap.selection()


def not_selected(ctap, _):
    assert refusal(ctap.selection) == ERR.USER_ACTION_TIMEOUT


def unknown(ctap, relying_party):
    assert refusal(lambda: ctap.get_assertion(relying_party, HASH, [descriptor(b"\1")])) == ERR.NO_CREDENTIALS


def probe(ctap, known):
    ids = [b"\1" * 32, bytes.fromhex(known)]
    answers = ctap.get_assertions("ssh:", PROBE, list(map(descriptor, ids)), options={"up": False})
    assert [answer.credential["id"] for answer in answers] == ids[1:]


def info(ctap, _):
    assert ctap.info.options["uv"]


if __name__ == "__main__":
    path, scenario, argument = (sys.argv + [None])[1:4]
    connection = accept(path)
    if scenario == "short":
        connection.send(bytes(63))
        assert connection.recv(100) == b"", "the key accepts a short packet"
    elif scenario == "long":
        connection.send(bytes(65))
        assert connection.recv(100) == b"", "the key accepts a long packet"
    else:
        device = CtapHidDevice(HidDescriptor("socket", 0, 0, 64, 64, "key", "1"), Packets(connection))
        message = os.urandom(7609)
        assert device.ping(message) == message
        globals()[scenario](Ctap2(device), argument)
