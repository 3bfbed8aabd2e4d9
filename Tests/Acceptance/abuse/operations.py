# SPDX-License-Identifier: Apache-2.0
"""Operations on a relay in use: stop, certificate renewal, too few descriptors."""
import asyncio
import collections
import hashlib
import signal
import subprocess
import time

from harness.relay_process import put
from load import PATIENCE
from tunnels import (SIZES, close_all, converse_all, join_all, none_ended, open_live, open_waiting, still_works)
from harness.async_waiting import Failed, at_once, require, until, within
from harness.websocket import HungUp, Refused

LIVE, WAITING = 200, 50


async def drain(env):
    """Checks SIGTERM with live and waiting tunnels, all of which end by themselves; authenticators need a token."""
    load = env.load
    token, wrong = load.secret(), load.secret()
    tokens = env.folder / "tokens"
    tokens.write_text(f"battery {hashlib.sha256(token.encode()).hexdigest()}\n")
    async with env.own_relay("drain", "--new-token-file", tokens, "--drain-grace", "60") as relay:
        for missing in (None, wrong):
            seen = await load.status(relay, f"/cable/new/{load.tunnel_id()}", token=missing)
            require(seen == 401, f"expected 401 for an authenticator with a wrong token or none; found {seen}")
        live = await open_live(load, relay, LIVE, token=token)
        waiting = await open_waiting(load, relay, WAITING, early=100, token=token)
        require((await relay.get("/readyz"))[0] == 200, "expected 200 from /readyz; found another status")
        relay.signal(signal.SIGTERM)

        async def drains():
            return (await relay.get("/readyz"))[0] == 404

        start = time.monotonic()
        await until("/readyz to return 404", drains, 60, pause=0.01)
        noticed = time.monotonic() - start
        require((await relay.get("/healthz"))[0] == 200, "expected 200 from /healthz of a draining relay; found "
                                                         "another status")
        await relay.shows("hybrid_relay_draining", 1)
        late = await at_once(20, lambda _: load.status(relay, f"/cable/new/{load.tunnel_id()}", token=token), range(20))
        require(set(late) == {503}, f"expected 503 for new authenticators; found {collections.Counter(late)}")
        await join_all(load, waiting)
        await converse_all([*live, *waiting])
        none_ended([*live, *waiting], "while the relay drained")
        require(relay.status is None, "expected the relay to outlive its tunnels; it ended first")
        seen = await relay.value("hybrid_relay_new_by_token_total", token="battery")
        require(seen == LIVE + WAITING, f"expected {LIVE + WAITING} tunnels counted for the token; found {seen}")
        await close_all([*live, *waiting])
        start = time.monotonic()
        status = await relay.ended(60)
        require(status == 0, f"expected exit status 0; found {status}")
    return (f"{LIVE} live and {WAITING} waiting: /readyz 404 after {noticed * 1e3:.0f} ms, 20 new ones 503, all "
            f"{WAITING} joined, all finished, exit 0 {time.monotonic() - start:.2f} s after the last")


async def drain_grace(env):
    """Checks SIGTERM with tunnels that do not end: the relay closes them with 1001 after the grace time."""
    load, grace = env.load, 2
    async with env.own_relay("grace", "--drain-grace", str(grace), certificates=env.certificates) as relay:
        tunnels = [*await open_live(load, relay, LIVE), *await open_waiting(load, relay, WAITING)]
        start = time.monotonic()
        relay.signal(signal.SIGTERM)
        times = []

        async def one(end):
            code = await within(grace + 60, "a close frame", end.close_code())
            require(code == 1001, f"expected close code 1001; found {end.ending}")
            times.append(time.monotonic() - start)

        ends = [end for tunnel in tunnels for end in tunnel.ends]
        await at_once(len(ends), one, ends)
        require(min(times) >= grace - 0.1, f"expected no close before the grace time of {grace} s; found one after "
                                           f"{min(times):.1f} s")
        status = await relay.ended(60)
        require(status == 0, f"expected exit status 0; found {status}")
    return (f"{len(ends)} ends closed with 1001 after {min(times):.1f} to {max(times):.1f} s (grace {grace} s), exit "
            "0 after "
            f"{time.monotonic() - start:.1f} s")


async def certificate_swap(env):
    """Replaces certificates under 200 live tunnels: no tunnel ends, and new connections get the new certificate."""
    load, door, certificates = env.load, env.tls, env.certificates
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

        await until(f"certificate {number} to be in use", look, 20, pause=0.1)
        return time.monotonic() - start

    async def stays(number, what):
        """Checks that a signal loads no other certificate; the relay counts the attempt."""
        before = await door.value("hybrid_relay_reloads_total", part="certificate", result="kept")
        door.signal(signal.SIGHUP)

        async def look():
            return await door.value("hybrid_relay_reloads_total", part="certificate", result="kept") > before

        await until(f"{what} to be counted", look, 20)
        require(await shown() == certificates.encoded(number), f"{what} changed the certificate in use")

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
    require(seen >= 3, f"expected at least 3 reloads; found {seen}")
    none_ended(tunnels, "with the old certificate")
    await converse_all(tunnels)
    await close_all(tunnels)
    return (f"{LIVE} tunnels unaffected; new certificate in use {by_signal:.2f} s after SIGHUP, {by_change:.2f} s "
            f"after a change of the files alone; a wrong key and an empty file kept the old one")


# Share of one core, under some 80 connections a second beyond the limit. Each has a cost, but a busy loop would use a
# whole core.
SPINNING = 0.25


class Knocking:
    """Connections that are repeated and each given up after a while, and the relay's processor time meanwhile."""

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
        require(self.used < SPINNING, f"expected the relay to use less than {SPINNING:.0%} of a core {what}; found "
                                      f"{self.used:.0%}")

    async def _knock(self):
        try:
            async with asyncio.timeout(self._patience):
                return await self._load.status(self._relay, f"/cable/new/{self._load.tunnel_id()}")
        except TimeoutError:
            return "no response"


async def few_descriptors(env):
    """Checks 256 descriptors with more connections, then a limit below the number that a running relay has open."""
    load, wanted = env.load, 400
    async with env.own_relay("descriptors", before=("prlimit", "--nofile=256")) as relay:
        idle = await relay.descriptors()
        phones, refused = [], collections.Counter()

        async def one(_):
            try:
                phones.append(await load.phone(relay))
            except Refused as refusal:
                refused[refusal.status] += 1
            except HungUp:
                refused["closed"] += 1
            except Failed as failure:
                refused[str(failure)] += 1

        await at_once(wanted, one, range(wanted))
        require(set(refused) <= {503, "closed"} and refused, "expected only 503 or a closed connection beyond the "
                                                             f"limit; found {dict(refused)}")
        # Phones get all but an eighth of the connections.
        require(len(phones) >= 90, f"expected at least 90 connections with 256 descriptors; found {len(phones)}")
        knocking = Knocking(load, relay, PATIENCE)
        await knocking.go_on(2, "beyond its limit of connections")
        require(set(knocking.answers) <= {503, 0}, "expected only 503 or a closed connection for later ones; found "
                                                   f"{dict(knocking.answers)}")
        require((await relay.get("/healthz"))[0] == 200, "expected 200 from the admin listener; found another status")
        held = len(phones)
        # Half of the authenticators leave; clients of the others connect.
        for end, _, _ in phones[held // 2:]:
            end.hang_up()
        await relay.shows("hybrid_relay_connections_open", held // 2)
        for phone, tunnel, routing in phones[:held // 2]:
            client = await load.client(relay, tunnel, routing)
            phone.send(b"here")
            require(await within(PATIENCE, "a message", client.receive()) == b"here", "expected the message that was "
                                                                                      "sent; found another")
            client.hang_up()
        await relay.is_empty()
        lowered = await _lowered(load, relay, idle)
        lines = relay.said().count("\n")
        require(lines < 3 * wanted, f"expected fewer than {3 * wanted} log lines; found {lines}")
    return (f"of {wanted} at once {held} were admitted, {refused['closed']} closed, {refused[503]} rejected with 503; "
            f"{sum(knocking.answers.values())} later attempts, relay at {knocking.used:.0%} of a core; all well "
            f"afterwards; {lowered}")


async def _is_exhausted(load, relay):
    """Returns True if the relay accepts no further connection.

    The admin listener is not asked: while a connection waits there, the relay would be measured at work.
    """
    try:
        async with asyncio.timeout(2):
            await load.status(relay, f"/cable/new/{load.tunnel_id()}")
    except TimeoutError:
        return True
    except (Failed, HungUp):
        pass
    return False


async def _lowered(load, relay, idle):
    """Uses up the descriptors in another way than by connections, so that accept fails in spite of the relay's
    limit.
    """
    room = 20
    subprocess.run(["prlimit", "--pid", str(relay.pid), f"--nofile={idle + room}:256"], check=True)
    try:
        tunnels = await open_live(load, relay, room // 2 - 4)
        filling = [asyncio.ensure_future(load.line(relay)) for _ in range(3 * room)]
        lines = await asyncio.gather(*filling)
        await until("the descriptors to be used up", lambda: _is_exhausted(load, relay), 20)
        # No connection gets a response now, so each attempt is short.
        knocking = Knocking(load, relay, 0.5)
        await knocking.go_on(2, "with no descriptor left for accept")
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
    return f"with no descriptor left for accept: {knocking.used:.0%} of a core, then all well"
