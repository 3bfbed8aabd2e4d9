# SPDX-License-Identifier: Apache-2.0
"""What an operator does to a relay that is in use: stop it, renew its certificate, give it too few descriptors."""
import asyncio
import collections
import hashlib
import signal
import subprocess
import time

from load import PATIENCE
from relay import put
from tunnels import (SIZES, close_all, converse_all, join_all, none_ended, open_live, open_waiting, still_works)
from waiting import Failed, at_once, require, until, within
from websocket import HungUp, Refused

LIVE, WAITING = 200, 50


async def drain(stage):
    """SIGTERM with live and waiting tunnels, all of which find their own end; phones need a token."""
    load = stage.load
    token, wrong = load.secret(), load.secret()
    tokens = stage.folder / "tokens"
    tokens.write_text(f"battery {hashlib.sha256(token.encode()).hexdigest()}\n")
    async with stage.own_relay("drain", "--new-token-file", tokens, "--drain-grace", "60") as relay:
        for missing in (None, wrong):
            seen = await load.status(relay, f"/cable/new/{load.tunnel_id()}", token=missing)
            require(seen == 401, f"a phone with a wrong token or none was answered {seen}")
        live = await open_live(load, relay, LIVE, token=token)
        waiting = await open_waiting(load, relay, WAITING, early=100, token=token)
        require((await relay.get("/readyz"))[0] == 200, "/readyz did not answer 200")
        relay.signal(signal.SIGTERM)

        async def drains():
            return (await relay.get("/readyz"))[0] == 404

        start = time.monotonic()
        await until("/readyz to answer 404", drains, 60, pause=0.01)
        noticed = time.monotonic() - start
        require((await relay.get("/healthz"))[0] == 200, "/healthz of a relay that drains did not answer 200")
        await relay.shows("hybrid_relay_draining", 1)
        late = await at_once(20, lambda _: load.status(relay, f"/cable/new/{load.tunnel_id()}", token=token), range(20))
        require(set(late) == {503}, f"new phones were answered {collections.Counter(late)}, not 503")
        await join_all(load, waiting)
        await converse_all([*live, *waiting])
        none_ended([*live, *waiting], "while the relay drained")
        require(relay.status is None, "the relay ended before its tunnels")
        seen = await relay.value("hybrid_relay_new_by_token_total", token="battery")
        require(seen == LIVE + WAITING, f"{seen} tunnels were counted for the token, not {LIVE + WAITING}")
        await close_all([*live, *waiting])
        start = time.monotonic()
        status = await relay.ended(60)
        require(status == 0, f"the relay ended with status {status}")
    return (f"{LIVE} live and {WAITING} waiting: /readyz 404 after {noticed * 1e3:.0f} ms, 20 new ones 503, all "
            f"{WAITING} joined, all finished, exit 0 {time.monotonic() - start:.2f} s after the last")


async def drain_grace(stage):
    """SIGTERM with tunnels that do not end: the grace time does, with 1001."""
    load, grace = stage.load, 2
    async with stage.own_relay("grace", "--drain-grace", str(grace), certificates=stage.certificates) as relay:
        tunnels = [*await open_live(load, relay, LIVE), *await open_waiting(load, relay, WAITING)]
        start = time.monotonic()
        relay.signal(signal.SIGTERM)
        times = []

        async def one(end):
            code = await within(grace + 60, "an end to be told", end.told())
            require(code == 1001, f"an end should have been told 1001 and was {end.ending}")
            times.append(time.monotonic() - start)

        ends = [end for tunnel in tunnels for end in tunnel.ends]
        await at_once(len(ends), one, ends)
        require(min(times) >= grace - 0.1, f"an end was told after {min(times):.1f} s already; the grace is {grace} s")
        status = await relay.ended(60)
        require(status == 0, f"the relay ended with status {status}")
    return (f"{len(ends)} ends told 1001 after {min(times):.1f} to {max(times):.1f} s (grace {grace} s), exit 0 after "
            f"{time.monotonic() - start:.1f} s")


async def certificate_swap(stage):
    """New certificates under 200 live tunnels: none is dropped, new connections see the new one."""
    load, door, certificates = stage.load, stage.tls, stage.certificates
    tunnels = await open_live(load, door, LIVE)

    async def shown():
        line = await load.line(door)
        seen = line.transport.get_extra_info("ssl_object").getpeercert(binary_form=True)
        line.hang_up()
        return seen

    def install(certificate, key):
        put(key, door.key)
        put(certificate, door.certificate)

    async def shows(number):
        start = time.monotonic()

        async def look():
            return await shown() == certificates.encoded(number)

        await until(f"certificate {number} to be shown", look, 20, pause=0.1)
        return time.monotonic() - start

    async def stays(number, what):
        """A signal must bring no other certificate; the relay counts that it looked."""
        before = await door.value("hybrid_relay_reloads_total", part="certificate", result="kept")
        door.signal(signal.SIGHUP)

        async def look():
            return await door.value("hybrid_relay_reloads_total", part="certificate", result="kept") > before

        await until(f"{what} to be noticed", look, 20)
        require(await shown() == certificates.encoded(number), f"{what} has changed the certificate")

    done = await door.value("hybrid_relay_reloads_total", part="certificate", result="done")
    pairs = certificates.pairs
    install(*pairs[1])
    door.signal(signal.SIGHUP)
    by_signal = await shows(1)
    await converse_all(tunnels, (81, 900))
    install(*pairs[2])
    by_change = await shows(2)
    await converse_all(tunnels, (81, 900))
    install(pairs[3][0], pairs[2][1])
    await stays(2, "a key of another certificate")
    install(b"", pairs[2][1])
    await stays(2, "an empty certificate file")
    install(*pairs[0])
    door.signal(signal.SIGHUP)
    await shows(0)
    seen = await door.value("hybrid_relay_reloads_total", part="certificate", result="done") - done
    require(seen >= 3, f"{seen} reloads were counted, not 3 or more")
    none_ended(tunnels, "with the old certificate")
    await converse_all(tunnels)
    await close_all(tunnels)
    return (f"{LIVE} tunnels untouched; the new certificate shown {by_signal:.2f} s after SIGHUP, {by_change:.2f} s "
            f"after the files' change alone; a wrong key and an empty file kept the old one")


# Of one core, while connections beyond the limit knock some 80 times a second. Each costs the relay something; a loop
# that spins costs it a whole core.
SPINNING = 0.25


class Knocking:
    """Connections that come again and again, each given up after a while, and what they cost the relay meanwhile."""

    def __init__(self, load, relay, patience):
        self._load, self._relay, self._patience = load, relay, patience
        self.answers = collections.Counter()
        self.used = 0

    async def go_on(self, seconds, what):
        start, processor = time.monotonic(), self._relay.processor()
        end = start + seconds
        while time.monotonic() < end:
            self.answers[await self._knock()] += 1
            await asyncio.sleep(0.01)
        self.used = (self._relay.processor() - processor) / (time.monotonic() - start)
        require(self.used < SPINNING, f"{what} the relay uses {self.used:.0%} of a core")

    async def _knock(self):
        try:
            async with asyncio.timeout(self._patience):
                return await self._load.status(self._relay, f"/cable/new/{self._load.tunnel_id()}")
        except TimeoutError:
            return "left waiting"


async def few_descriptors(stage):
    """256 descriptors and more connections than that; then fewer than are open, under a relay that runs."""
    load, wanted = stage.load, 400
    async with stage.own_relay("descriptors", before=("prlimit", "--nofile=256")) as relay:
        idle = relay.descriptors()
        phones, refused = [], collections.Counter()

        async def one(_):
            try:
                phones.append(await load.phone(relay))
            except Refused as refusal:
                refused[refusal.status] += 1
            except HungUp:
                refused["hung up on"] += 1
            except Failed as failure:
                refused[str(failure)] += 1

        await at_once(wanted, one, range(wanted))
        require(set(refused) <= {503, "hung up on"} and refused, f"beyond the limit they were {dict(refused)}")
        require(len(phones) >= 100, f"256 descriptors should carry 100 connections at least, and carry {len(phones)}")
        knocking = Knocking(load, relay, PATIENCE)
        await knocking.go_on(2, "beyond its limit of connections")
        require(set(knocking.answers) <= {503, 0}, f"later ones were {dict(knocking.answers)}")
        require((await relay.get("/healthz"))[0] == 200, "the admin listener answers no more")
        held = len(phones)
        # Half of the phones leave, the clients of the others come.
        for end, _, _ in phones[held // 2:]:
            end.hang_up()
        await relay.shows("hybrid_relay_connections_open", held // 2)
        for phone, tunnel, routing in phones[:held // 2]:
            client = await load.client(relay, tunnel, routing)
            phone.send(b"here")
            require(await within(PATIENCE, "a message", client.receive()) == b"here", "a message was changed")
            client.hang_up()
        await relay.is_empty()
        lowered = await _lowered(load, relay, idle)
        lines = relay.said().count("\n")
        require(lines < 3 * wanted, f"the log has {lines} lines")
    return (f"of {wanted} at once {held} were let in, {refused['hung up on']} hung up on, {refused[503]} answered 503; "
            f"knocking on: {sum(knocking.answers.values())} more, relay at {knocking.used:.0%} of a core; all well "
            f"afterwards; {lowered}")


async def _lowered(load, relay, idle):
    """The relay's own limit does not help where the descriptors go in another way: accepting fails then."""
    room = 20
    subprocess.run(["prlimit", "--pid", str(relay.pid), f"--nofile={idle + room}:256"], check=True)
    try:
        tunnels = await open_live(load, relay, room // 2 - 4)
        filling = [asyncio.ensure_future(load.line(relay)) for _ in range(3 * room)]
        lines = await asyncio.gather(*filling)
        await until("the descriptors to be used up", lambda: relay.descriptors() >= idle + room - 1, 20)
        # Nobody is answered now, so nobody waits for long.
        knocking = Knocking(load, relay, 0.5)
        await knocking.go_on(2, "with no descriptor left to accept by")
        await converse_all(tunnels, SIZES)
        for line in lines:
            line.hang_up()
    finally:
        subprocess.run(["prlimit", "--pid", str(relay.pid), "--nofile=256:256"], check=True)

    async def works():
        try:
            await still_works(load, relay)
        except Failed:
            return False
        return True

    await until("a new tunnel", works, 20)
    await close_all(tunnels)
    await relay.is_empty()
    return f"with no descriptor left to accept by: {knocking.used:.0%} of a core, then all well"
