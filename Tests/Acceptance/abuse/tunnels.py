# SPDX-License-Identifier: Apache-2.0
"""Complete tunnels: opened, used, compared and closed."""
import secrets
import time

from harness.async_waiting import Failed, at_once, require, within
from load import PATIENCE

# Message sizes of a sign-in: handshake, getInfo, request, response; and a large one.
SIZES = (81, 81, 400, 300, 900, 20_000)
# Number of tunnels opened concurrently; more would only queue.
AT_ONCE = 100


class Tunnel:
    """An authenticator, and a client once it has connected."""

    def __init__(self, door, phone, tunnel_id, routing):
        self.door, self.phone, self.id, self.routing = door, phone, tunnel_id, routing
        self.client = None

    @property
    def ends(self):
        return [end for end in (self.phone, self.client) if end]

    async def join(self, load, **options):
        self.client = await load.client(self.door, self.id, self.routing, **options)
        return self

    async def converse(self, sizes=SIZES):
        """Exchanges messages one by one; returns the longest time of one."""
        slowest = 0
        for number, size in enumerate(sizes):
            sender, receiver = (self.client, self.phone) if number % 2 == 0 else (self.phone, self.client)
            message = secrets.token_bytes(size)
            start = time.monotonic()
            sender.send(message)
            arrived = await within(PATIENCE, f"a message of {size} bytes", receiver.receive())
            require(arrived == message, f"expected the message of {size} bytes that was sent; found another of "
                                        f"{len(arrived)} bytes")
            slowest = max(slowest, time.monotonic() - start)
        return slowest

    def compare(self):
        """Checks that each end received what the other sent: bytes, boundaries, order."""
        for sender, receiver, way in ((self.phone, self.client, "to the client"), (self.client, self.phone, "back")):
            require(sender.sent_bytes == receiver.received_bytes and sender.sent.digest() == receiver.received.digest(),
                    f"expected the {sender.sent_bytes} bytes that were sent {way}; found {receiver.received_bytes} or "
                    "others")

    async def close(self, by="phone", code=1000):
        """Closes one end; both must get the same close code."""
        (self.phone if by == "phone" else self.client).say_close(code)
        for end in self.ends:
            seen = await within(PATIENCE, "a tunnel to close", end.close_code())
            require(seen == code, f"expected close code {code}; found {end.ending}")


async def open_waiting(load, door, count, early=None, **options):
    """Opens authenticators that wait; with `early`, each has sent so many bytes already."""
    async def one(_):
        tunnel = Tunnel(door, *await load.phone(door, **options))
        if early:
            tunnel.phone.send(secrets.token_bytes(early))
        return tunnel

    return await at_once(AT_ONCE, one, range(count))


async def join_all(load, tunnels):
    """Connects a client to every tunnel; early messages of the authenticator must come first."""
    async def one(tunnel):
        await tunnel.join(load)
        if tunnel.phone.sent_bytes:
            early = await within(PATIENCE, "an early message of the authenticator", tunnel.client.receive())
            require(len(early) == tunnel.phone.sent_bytes, "expected the early message of the authenticator; found "
                                                           "another")

    await at_once(AT_ONCE, one, tunnels)


async def open_live(load, door, count, **options):
    tunnels = await open_waiting(load, door, count, **options)
    await join_all(load, tunnels)
    return tunnels


async def converse_all(tunnels, sizes=SIZES):
    """Uses every tunnel at the same time; returns the longest time of a message."""
    return max(await at_once(len(tunnels), lambda tunnel: tunnel.converse(sizes), tunnels), default=0)


async def close_all(tunnels):
    """Half are closed by their authenticators, half by their clients."""
    async def one(numbered):
        number, tunnel = numbered
        tunnel.compare()
        await tunnel.close(by="phone" if number % 2 else "client")

    await at_once(len(tunnels), one, enumerate(tunnels))


async def still_works(load, door):
    """Runs one tunnel from opening to close."""
    tunnels = await open_live(load, door, 1, early=100)
    await converse_all(tunnels)
    await close_all(tunnels)


def none_ended(tunnels, what):
    """Checks that no end was closed meanwhile."""
    ended = [end.ending for tunnel in tunnels for end in tunnel.ends if end.is_over]
    if ended:
        raise Failed(f"expected no closed end {what}; found {len(ended)}, the first {ended[0]}")
