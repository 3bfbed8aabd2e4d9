# SPDX-License-Identifier: Apache-2.0
"""Linked phones at a relay: keys of contact IDs, a phone that listens, and a client that contacts it.

The messages are those of `Counterparts/linking.py`, which connects without an event loop. All functions that connect
take `connect`, an asynchronous function of a protocol factory and of the first bytes to send: `direct` returns one for
an address, and a suite with its own connections passes its own.
"""
import asyncio
import functools
import sys

from fido2 import cbor

from harness.async_waiting import require, within
from harness.command import REPOSITORY
from harness.websocket import CLOSE, End, frame, request

sys.path.append(str(REPOSITORY / "Tests/Counterparts"))
import linking
from linking import LISTEN, PAYLOAD, SIGNAL, Wake
from website import to_base64url as base64url

# Seconds for an answer, on a machine that is busy.
PATIENCE = 30
HOST = "localhost"
# Header fields of a response to a contact whose phone has revoked it.
GONE_KEY, GONE_SIGNATURE = "x-hybrid-contact-key", "x-hybrid-contact-gone"
# Close codes: reconnect (drained, or end of life); a violation, or a newer listener; a phone that declined or revoked.
RESTART, POLICY, DECLINED = 1012, 1008, 1013
JOINED = b"\0"


class ContactKey:
    """The key of one contact ID, and the statements that it signs."""

    def __init__(self):
        self._key = linking.new_contact_key()
        self.public = linking.public_bytes(self._key)
        self.contact_id = linking.contact_id(self._key)
        #: The contact ID in a path.
        self.text = base64url(self.contact_id)

    def own(self, host, challenge):
        """Returns the signature over a relay's challenge."""
        return self._key.sign(linking.listen_statement(host, challenge, self.contact_id))

    def gone(self, host):
        """Returns the signature of the revocation."""
        return self._key.sign(linking.gone_statement(host, self.contact_id))


class Listener(End):
    """The connection of a phone that listens for one contact ID."""

    def __init__(self, key, host=HOST, keeps=True):
        super().__init__(protocol=LISTEN, keeps=keeps)
        self.key, self.host = key, host
        #: Interval of the relay's pings, once known.
        self.ping_seconds = None

    async def hello(self):
        """Returns the relay's challenge."""
        message = await self._expect("hello", {1: bytes, 2: int})
        require(len(message[1]) == 32, f"expected a challenge of 32 bytes; found {len(message[1])}")
        self.ping_seconds = message[2]
        return message[1]

    async def prove(self, challenge):
        """Proves the possession of the key, and waits until the relay accepts the proof."""
        self.own(self.key.own(self.host, challenge))
        await self._expect("ok", {})

    def own(self, signature, public=None):
        self.say({0: "own", 1: public or self.key.public, 2: signature})

    async def wake(self, seconds=PATIENCE):
        """Returns the next wake-up."""
        message = await self._expect("wake", {1: int, 2: bytes, 3: bytes, 4: bytes, 5: int}, seconds)
        wake = Wake(*(message[key] for key in range(1, 6)))
        require(len(wake.routing) == 3 and len(wake.tunnel) == 16 and 1 <= len(wake.payload) <= 256
                and wake.seconds >= 0, f"expected IDs of 3 and 16 bytes and a payload of 1 to 256; found {wake}")
        return wake

    def decline(self, number):
        self.say({0: "decline", 1: number})

    def revoke(self, signature=None):
        self.say({0: "gone", 1: signature or self.key.gone(self.host)})

    def say(self, message):
        self.send(cbor.encode(message))

    async def _expect(self, kind, members, seconds=PATIENCE):
        data = await within(seconds, f"the message {kind!r} of the relay", self.receive())
        try:
            message = cbor.decode(data)
            is_canonical = cbor.encode(message) == data
        except (ValueError, TypeError, IndexError):
            message, is_canonical = None, False
        require(is_canonical and isinstance(message, dict) and message.get(0) == kind
                and set(message) == {0, *members}
                and all(type(message[key]) is wanted for key, wanted in members.items()),
                f"expected {kind!r} as canonical CBOR with the members {sorted(members)}; found {data.hex()}")
        return message


def direct(address, tls=None, name=HOST):
    """Returns a function that connects to an address, with TLS if there is a context."""
    async def connect(make, first):
        _, line = await asyncio.get_running_loop().create_connection(
            make, *address, ssl=tls, server_hostname=name if tls else None)
        line.write(first)
        return line

    return connect


async def _granted(connect, make, first):
    end = await connect(make, first)
    try:
        await within(PATIENCE, "a response", end.answered)
    except BaseException:
        end.transport.abort()
        raise
    return end


async def open_listener(connect, key, host=HOST, *, token=None, keeps=True):
    """Opens the connection of a phone, which has proved nothing yet."""
    return await _granted(connect, functools.partial(Listener, key, host, keeps=keeps),
                          request(f"/cable/listen/{key.text}", token=token, protocol=LISTEN))


async def listen(connect, key, host=HOST, *, token=None):
    """Returns a listener that the relay has accepted. Raises Refused if it answered a status other than 101."""
    listener = await open_listener(connect, key, host, token=token)
    await listener.prove(await listener.hello())
    return listener


def contact_request(contact_id, payload, *, signals=True, fields=()):
    """Returns a client's request for a phone; `payload` may be text that is not hexadecimal."""
    fields = [(PAYLOAD, payload.hex() if isinstance(payload, bytes) else payload), *fields]
    if signals:
        fields.append((SIGNAL, "true"))
    return request(f"/cable/contact/{contact_id}", fields=fields)


async def contact(connect, contact_id, payload, *, signals=True):
    """Returns a client's end, which waits for the phone; `contact_id` is text.

    Raises Refused after any other status than 101: 404 if no phone listens, 410 if the phone has revoked the contact
    ID. With `signals`, the phone's arrival is the first message: see `phone_joined`.
    """
    end = await _granted(connect, End, contact_request(contact_id, payload, signals=signals))
    echoes = SIGNAL.lower() in end.fields
    require(echoes == signals, f"expected {SIGNAL} in the response {'once' if signals else 'only if requested'}; found "
                               f"{end.fields}")
    return end


async def phone_joined(end, seconds=PATIENCE):
    """Waits for the one byte that announces the phone."""
    first = await within(seconds, "the relay to announce the phone", end.receive())
    require(first == JOINED, f"expected one byte 00 before the phone's messages; found {first.hex()}")


async def join(connect, wake):
    """Returns the phone's end of the tunnel of a wake-up."""
    return await _granted(connect, End, request(wake.path))


async def closed_with(end, code, what):
    """Waits until the relay closes an end with a code."""
    seen = await within(PATIENCE, what, end.close_code())
    require(seen == code, f"expected {what} with close code {code}; found {end.ending}")


def close(end, code=1000):
    """Sends a close frame."""
    end.write(frame(code.to_bytes(2, "big"), CLOSE))
