# SPDX-License-Identifier: Apache-2.0
"""RST in every state of a connection; the other end must get a close frame."""
import asyncio
import secrets
import time

from harness.async_waiting import Failed, at_once, require, standstill, until, within
from harness.websocket import BINARY, CLOSE, Refused, frame, frame_head, request
from load import PATIENCE, proxy_header
from tunnels import open_live, open_waiting

EACH = 20
# The sweep runs every second; an RST is detected at once, so the rest is for the load.
PROMPTLY = 20
# Ways in which the relay reports the loss of the peer.
GONE = {1001}


class Case:
    """One state on one relay: the close codes and their delay."""

    def __init__(self, load, door):
        self.load, self.door = load, door
        self.slowest = 0
        self.count = 0

    async def expect_close(self, ends, codes=GONE):
        """Checks that every end gets one of the codes in time."""
        start = time.monotonic()

        async def one(end):
            try:
                code = await within(PROMPTLY, "a close frame after an RST", end.close_code())
            except Failed as failure:
                raise Failed(f"{failure}; found {end.ending}") from None
            require(code in codes, f"expected one of the close codes {sorted(codes)}; found {end.ending}")
            self.slowest = max(self.slowest, time.monotonic() - start)

        await at_once(len(ends), one, ends)
        self.count += len(ends)

    async def accepted(self, lines, before):
        """Waits until the relay has accepted new connections."""
        async def look():
            return await self.door.value("hybrid_relay_connections_total") >= before + len(lines)

        await until("the relay to accept connections", look, PATIENCE)

    async def lines(self, **options):
        before = await self.door.value("hybrid_relay_connections_total")
        lines = await at_once(EACH, lambda _: self.load.line(self.door, **options), range(EACH))
        await self.accepted(lines, before)
        return lines

    # States

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
                require(refusal.status == 404, "expected 404 for a client whose authenticator is gone; found "
                                               f"{refusal.status}")
                return
            # The client connected before the relay detected the loss; it then gets a close frame.
            await self.expect_close([client])

        await at_once(EACH, is_forgotten, tunnels)

    async def paired(self):
        for reset, rest in (("phone", "client"), ("client", "phone")):
            tunnels = await open_live(self.load, self.door, EACH)
            await at_once(EACH, lambda tunnel: tunnel.converse((81, 81)), tunnels)
            for tunnel in tunnels:
                getattr(tunnel, reset).reset()
            await self.expect_close([getattr(tunnel, rest) for tunnel in tunnels])

    async def in_a_message(self):
        """Within a frame that the relay holds until it is complete."""
        tunnels = await open_live(self.load, self.door, EACH)
        for tunnel in tunnels:
            tunnel.phone.write(frame_head(1000) + bytes(4) + bytes(500))
        # A message in the other direction shows that the partial one does no harm.
        await at_once(EACH, lambda tunnel: tunnel.converse((81,)), tunnels)
        for tunnel in tunnels:
            tunnel.phone.reset()
        await self.expect_close([tunnel.client for tunnel in tunnels])
        require(not any(tunnel.client.received_bytes for tunnel in tunnels), "expected no part of an incomplete "
                                                                             "frame; some was forwarded")

    async def in_a_large_message(self):
        """Within a frame of which the other end has a part."""
        tunnels = await open_live(self.load, self.door, EACH)
        for tunnel in tunnels:
            tunnel.phone.write(frame_head(200_000) + bytes(4) + bytes(100_000))
        for tunnel in tunnels:
            await until("the first part of a message", lambda: tunnel.client.received_bytes >= 65_536, PATIENCE)
            tunnel.phone.reset()
        await self.expect_close([tunnel.client for tunnel in tunnels])

    async def between_fragments(self):
        tunnels = await open_live(self.load, self.door, EACH)
        for tunnel in tunnels:
            tunnel.client.write(frame(bytes(300), BINARY, final=False))
        for tunnel in tunnels:
            await until("the first fragment", lambda: tunnel.phone.received_bytes == 300, PATIENCE)
            tunnel.client.reset()
        await self.expect_close([tunnel.phone for tunnel in tunnels])

    async def in_backpressure(self):
        """One end does not read, and the other's data stalls; either one leaves."""
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
                await standstill("the flood to stall", lambda: sum(
                    tunnel.phone.unsent for tunnel in tunnels), looks=16)
                for tunnel in tunnels:
                    getattr(tunnel, reset).reset()
                    tunnel.client.read_on()
                await self.expect_close([getattr(tunnel, rest) for tunnel in tunnels])
            finally:
                for task in pouring:
                    task.cancel()

    async def behind_a_close(self):
        """Close frame and RST together; the RST may overtake the frame."""
        tunnels = await open_live(self.load, self.door, EACH)
        for tunnel in tunnels:
            tunnel.phone.write(frame((1000).to_bytes(2, "big"), CLOSE))
            tunnel.phone.reset()
        await self.expect_close([tunnel.client for tunnel in tunnels], {1000, 1001})

    async def closing(self):
        """The relay has sent close frames to both ends, and both respond with RST."""
        tunnels = await open_live(self.load, self.door, EACH)
        await at_once(EACH, lambda tunnel: tunnel.converse((81,)), tunnels)
        for tunnel in tunnels:
            for end in tunnel.ends:
                end.on_close = end.reset
            tunnel.phone.say_close(1000)
        await self.expect_close([end for tunnel in tunnels for end in tunnel.ends], {1000})


COMMON = (Case.before_the_request, Case.in_the_head, Case.waiting, Case.paired, Case.in_a_message,
          Case.in_a_large_message, Case.between_fragments, Case.in_backpressure, Case.behind_a_close, Case.closing)


async def resets(env):
    """RST in every state, with and without TLS."""
    slowest, closed = 0, 0
    for door, states in ((env.plain, (*COMMON, Case.in_the_proxy_header)),
                         (env.tls, (*COMMON, Case.in_the_tls_handshake))):
        for state in states:
            case = Case(env.load, door)
            try:
                await state(case)
            except Failed as failure:
                raise Failed(f"{state.__name__.replace('_', ' ')} ({door.name}): {failure}") from None
            slowest, closed = max(slowest, case.slowest), closed + case.count
    return (f"{len(COMMON) + 1} states, {EACH} times each, with and without TLS; {closed} ends got a close frame for "
            "their peer's RST, "
            f"after {slowest:.2f} s at most")
