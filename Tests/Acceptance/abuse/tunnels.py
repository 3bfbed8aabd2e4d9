# SPDX-License-Identifier: Apache-2.0
"""Whole tunnels: opened, talked through, compared and closed."""
import secrets
import time

from load import PATIENCE
from waiting import Failed, at_once, require, within

# What a sign-in's messages weigh: handshake, getInfo, request, response; and one that is large.
SIZES = (81, 81, 400, 300, 900, 20_000)
# Tunnels that are opened at the same time; more would only queue.
AT_ONCE = 100


class Tunnel:
    """A phone, and a client once there is one."""

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
        """Messages to and fro, each waited for; returns the longest time that one took."""
        slowest = 0
        for number, size in enumerate(sizes):
            sender, receiver = (self.client, self.phone) if number % 2 == 0 else (self.phone, self.client)
            message = secrets.token_bytes(size)
            start = time.monotonic()
            sender.send(message)
            arrived = await within(PATIENCE, f"a message of {size} bytes", receiver.receive())
            require(arrived == message, f"a message of {size} bytes is not what arrived ({len(arrived)} bytes)")
            slowest = max(slowest, time.monotonic() - start)
        return slowest

    def compare(self):
        """What either end sent must be what the other got: bytes, boundaries, order."""
        for sender, receiver, way in ((self.phone, self.client, "to the client"), (self.client, self.phone, "back")):
            require(sender.sent_bytes == receiver.received_bytes and sender.sent.digest() == receiver.received.digest(),
                    f"{sender.sent_bytes} bytes were sent {way}, and {receiver.received_bytes} or others arrived")

    async def close(self, by="phone", code=1000):
        """One end says goodbye; both must be told the same code."""
        (self.phone if by == "phone" else self.client).say_close(code)
        for end in self.ends:
            seen = await within(PATIENCE, "a tunnel to close", end.told())
            require(seen == code, f"an end should have been told {code} and was {end.ending}")


async def open_waiting(load, door, count, early=None, **options):
    """Phones that wait; with `early`, each has sent so many bytes already."""
    async def one(_):
        tunnel = Tunnel(door, *await load.phone(door, **options))
        if early:
            tunnel.phone.send(secrets.token_bytes(early))
        return tunnel

    return await at_once(AT_ONCE, one, range(count))


async def join_all(load, tunnels):
    """Brings every tunnel its client; what its phone said early must come first."""
    async def one(tunnel):
        await tunnel.join(load)
        if tunnel.phone.sent_bytes:
            early = await within(PATIENCE, "what a phone said early", tunnel.client.receive())
            require(len(early) == tunnel.phone.sent_bytes, "what a phone said early is not what arrived")

    await at_once(AT_ONCE, one, tunnels)


async def open_live(load, door, count, **options):
    tunnels = await open_waiting(load, door, count, **options)
    await join_all(load, tunnels)
    return tunnels


async def converse_all(tunnels, sizes=SIZES):
    """Every tunnel at the same time; returns the longest time that a message took."""
    return max(await at_once(len(tunnels), lambda tunnel: tunnel.converse(sizes), tunnels), default=0)


async def close_all(tunnels):
    """Half are closed by their phones, half by their clients."""
    async def one(numbered):
        number, tunnel = numbered
        tunnel.compare()
        await tunnel.close(by="phone" if number % 2 else "client")

    await at_once(len(tunnels), one, enumerate(tunnels))


async def still_works(load, door):
    """A tunnel from its beginning to its end."""
    tunnels = await open_live(load, door, 1, early=100)
    await converse_all(tunnels)
    await close_all(tunnels)


def none_ended(tunnels, what):
    """Nobody's end may have gone meanwhile."""
    ended = [end.ending for tunnel in tunnels for end in tunnel.ends if end.is_over]
    if ended:
        raise Failed(f"{len(ended)} ends of tunnels went {what}, the first {ended[0]}")
