# SPDX-License-Identifier: Apache-2.0
"""Ends that leave by RST, in every state that a connection can have; the other end is told."""
import asyncio
import secrets
import time

from load import PATIENCE, proxy_header
from tunnels import open_live, open_waiting
from waiting import Failed, at_once, require, standstill, until, within
from websocket import BINARY, CLOSE, Refused, frame, frame_head, request

EACH = 20
# A sweep is a second; an RST is noticed at once, so this is for the load.
PROMPTLY = 20
# How the other end learns that its peer is gone.
GONE = {1001}


class Case:
    """One state on one relay: what is told how quickly."""

    def __init__(self, load, door):
        self.load, self.door = load, door
        self.slowest = 0
        self.count = 0

    async def told(self, ends, codes=GONE):
        """Every end must be told one of the codes, promptly."""
        start = time.monotonic()

        async def one(end):
            try:
                code = await within(PROMPTLY, "an end to be told of an RST", end.told())
            except Failed as failure:
                raise Failed(f"{failure}; it is {end.ending}") from None
            require(code in codes, f"an end should have been told one of {sorted(codes)} and was {end.ending}")
            self.slowest = max(self.slowest, time.monotonic() - start)

        await at_once(len(ends), one, ends)
        self.count += len(ends)

    async def accepted(self, lines, before):
        """Waits until the relay has taken new connections."""
        async def look():
            return await self.door.value("hybrid_relay_connections_total") >= before + len(lines)

        await until("the relay to take connections", look, PATIENCE)

    async def lines(self, **options):
        before = await self.door.value("hybrid_relay_connections_total")
        lines = await at_once(EACH, lambda _: self.load.line(self.door, **options), range(EACH))
        await self.accepted(lines, before)
        return lines

    # The states

    async def before_the_request(self):
        for line in await self.lines():
            line.reset()

    async def in_the_head(self):
        for line in await self.lines(first=request(f"/cable/new/{self.load.tunnel_id()}")[:80]):
            line.reset()

    async def in_the_proxy_header(self):
        header = proxy_header("203.0.113.7", 2)
        for _ in range(EACH):
            (await self.load.line(self.door, first=header[:20], header=False)).reset()

    async def in_the_tls_handshake(self):
        for line in await self.lines(first=bytes.fromhex("160301020001000001fc0303"), tls=False):
            line.reset()

    async def waiting(self):
        tunnels = await open_waiting(self.load, self.door, EACH, early=100)
        for tunnel in tunnels:
            tunnel.phone.reset()

        async def is_forgotten(tunnel):
            try:
                client = await self.load.client(self.door, tunnel.id, tunnel.routing)
            except Refused as refusal:
                require(refusal.status == 404, f"a client of a phone that is gone was answered {refusal.status}")
                return
            # It came before the relay knew; then it is told so.
            await self.told([client])

        await at_once(EACH, is_forgotten, tunnels)

    async def paired(self):
        for reset, rest in (("phone", "client"), ("client", "phone")):
            tunnels = await open_live(self.load, self.door, EACH)
            await at_once(EACH, lambda tunnel: tunnel.converse((81, 81)), tunnels)
            for tunnel in tunnels:
                getattr(tunnel, reset).reset()
            await self.told([getattr(tunnel, rest) for tunnel in tunnels])

    async def in_a_message(self):
        """In a frame that the relay holds until it is whole."""
        tunnels = await open_live(self.load, self.door, EACH)
        for tunnel in tunnels:
            tunnel.phone.write(frame_head(1000) + bytes(4) + bytes(500))
        # A message the other way shows that the half of one does no harm.
        await at_once(EACH, lambda tunnel: tunnel.converse((81,)), tunnels)
        for tunnel in tunnels:
            tunnel.phone.reset()
        await self.told([tunnel.client for tunnel in tunnels])
        require(not any(tunnel.client.received_bytes for tunnel in tunnels), "half a frame was passed on")

    async def in_a_large_message(self):
        """In a frame of which the other end has a part."""
        tunnels = await open_live(self.load, self.door, EACH)
        for tunnel in tunnels:
            tunnel.phone.write(frame_head(200_000) + bytes(4) + bytes(100_000))
        for tunnel in tunnels:
            await until("the first part of a message", lambda: tunnel.client.received_bytes >= 65_536, PATIENCE)
            tunnel.phone.reset()
        await self.told([tunnel.client for tunnel in tunnels])

    async def between_fragments(self):
        tunnels = await open_live(self.load, self.door, EACH)
        for tunnel in tunnels:
            tunnel.client.write(frame(bytes(300), BINARY, final=False))
        for tunnel in tunnels:
            await until("the first fragment", lambda: tunnel.phone.received_bytes == 300, PATIENCE)
            tunnel.client.reset()
        await self.told([tunnel.phone for tunnel in tunnels])

    async def in_backpressure(self):
        """One end does not read, the other is no longer read; either leaves."""
        for reset, rest in (("phone", "client"), ("client", "phone")):
            tunnels = await open_waiting(self.load, self.door, EACH, narrow=True)
            await at_once(EACH, lambda tunnel: tunnel.join(self.load, stalls=True, narrow=True), tunnels)
            message = frame(secrets.token_bytes(50_000))

            async def pour(end):
                while not end.is_over:
                    end.write(message)
                    await end.drained()

            pouring = [asyncio.ensure_future(pour(tunnel.phone)) for tunnel in tunnels]
            try:
                await standstill("the flood to stand still", lambda: sum(
                    tunnel.phone.unsent for tunnel in tunnels), looks=16)
                for tunnel in tunnels:
                    getattr(tunnel, reset).reset()
                    tunnel.client.read_on()
                await self.told([getattr(tunnel, rest) for tunnel in tunnels])
            finally:
                for task in pouring:
                    task.cancel()

    async def behind_a_close(self):
        """Close frame and RST together; the RST may be quicker."""
        tunnels = await open_live(self.load, self.door, EACH)
        for tunnel in tunnels:
            tunnel.phone.write(frame((1000).to_bytes(2, "big"), CLOSE))
            tunnel.phone.reset()
        await self.told([tunnel.client for tunnel in tunnels], {1000, 1001})

    async def closing(self):
        """The relay has said its last word to both, and both answer with an RST."""
        tunnels = await open_live(self.load, self.door, EACH)
        await at_once(EACH, lambda tunnel: tunnel.converse((81,)), tunnels)
        for tunnel in tunnels:
            for end in tunnel.ends:
                end.on_close = end.reset
            tunnel.phone.say_close(1000)
        await self.told([end for tunnel in tunnels for end in tunnel.ends], {1000})


COMMON = (Case.before_the_request, Case.in_the_head, Case.waiting, Case.paired, Case.in_a_message,
          Case.in_a_large_message, Case.between_fragments, Case.in_backpressure, Case.behind_a_close, Case.closing)


async def resets(stage):
    """RST in every state, with and without TLS."""
    slowest, told = 0, 0
    for door, states in ((stage.plain, (*COMMON, Case.in_the_proxy_header)),
                         (stage.tls, (*COMMON, Case.in_the_tls_handshake))):
        for state in states:
            case = Case(stage.load, door)
            try:
                await state(case)
            except Failed as failure:
                raise Failed(f"{state.__name__.replace('_', ' ')} ({door.name}): {failure}") from None
            slowest, told = max(slowest, case.slowest), told + case.count
    return (f"{len(COMMON) + 1} states, {EACH} times each, plainly and by TLS; {told} ends were told of their peer's, "
            f"after {slowest:.2f} s at most")
