# SPDX-License-Identifier: Apache-2.0
"""Runs the abuse cases against a relay several times and compares its state after each run.

See ../README.md; scripts/abuse starts this program with its dependencies.
"""
import asyncio
import logging
import shutil
import sys
import tempfile
import time
import traceback
from pathlib import Path

from environment import TestEnvironment
from exhaustion import handshake_loop, one_48, partial_frames, refused_head, room_for_clients
from harness.async_waiting import Failed, Interrupted, interruptible
from harness.command import Arguments, count, names_of
from linked import (held_contacts, hostile_listeners, listener_flood, odd_contacts, restart,
                    unproven_listeners)
from load import raise_descriptor_limit
from operations import certificate_swap, drain, drain_grace, few_descriptors
from pressure import many_plain, many_tls, ping_flood, stalled_in_all, stalled_readers
import privacy
from resets import resets
from shares import failing_neighbor, proof_flood, silent_names, two_48s
from unauthenticated import flood_by_proxy, flood_by_tls, half_requests, odd_requests

CASES = {
    "half-requests": half_requests, "odd-requests": odd_requests, "flood-tls": flood_by_tls,
    "flood-proxy": flood_by_proxy, "stalled-readers": stalled_readers, "stalled-in-all": stalled_in_all,
    "ping-flood": ping_flood, "tunnels-plain": many_plain, "tunnels-tls": many_tls, "resets": resets, "drain": drain,
    "drain-grace": drain_grace, "certificate-swap": certificate_swap, "few-descriptors": few_descriptors,
    "partial-frames": partial_frames, "one-48": one_48, "handshake-loop": handshake_loop,
    "room-for-clients": room_for_clients, "refused-head": refused_head, "listener-flood": listener_flood,
    "listeners-unproven": unproven_listeners, "contacts-held": held_contacts, "odd-contacts": odd_contacts,
    "hostile-listeners": hostile_listeners, "restart": restart, "silent-names": silent_names,
    "proof-flood": proof_flood, "two-48s": two_48s, "failing-neighbor": failing_neighbor,
}
TOOLS = ("openssl", "prlimit", "setpriv")
# 5,000 tunnels have 10,000 ends, both in this process and in the relay's.
DESCRIPTORS = 10_500
# Permitted difference of a relay's memory between the second run and later ones.
GROWTH = 0.03
# Upper bound for a case that hangs although each of its waits is bounded.
CASE_SECONDS = 900


def arguments():
    parser = Arguments("abuse", __doc__.splitlines()[0], build="release")
    parser.add_argument("--runs", type=count(), default=3, metavar="N", help="number of runs of all cases; default 3")
    parser.add_argument("--cases", type=names_of("case", CASES), default=tuple(CASES), metavar="A,B",
                        help=f"cases, of {', '.join(CASES)}; default all")
    options = parser.parse_args()
    parser.require(TOOLS, "build test")
    programs = parser.programs(options.bin_dir, "relay")
    if not raise_descriptor_limit(DESCRIPTORS):
        parser.unavailable(f"this process cannot open {DESCRIPTORS} sockets; raise its limit (ulimit -Hn)")
    return options, programs.relay


def say(line):
    print(line, flush=True)


class Battery:
    def __init__(self, env, names, runs):
        self._env, self._names, self._runs = env, names, runs
        self.passed = self.failed = 0
        self._memory = {}

    def _judge(self, name, failure, figures, seconds):
        if failure:
            self.failed += 1
        else:
            self.passed += 1
        say(f"{name:22} {'FAILED' if failure else 'ok':6} {seconds:5.1f} s  {failure or figures}")

    async def _case(self, name, case):
        """Runs one case, closes what it left open, and checks that the relays' gauges return to 0."""
        start = time.monotonic()
        failure = figures = None
        try:
            async with asyncio.timeout(CASE_SECONDS):
                figures = await case()
        except (Failed, OSError, TimeoutError) as problem:
            failure = _sentence(problem)
        except Exception as problem:
            traceback.print_exc()
            failure = _sentence(problem)
        self._env.load.drop_all()
        try:
            for relay in self._env.lasting:
                await relay.is_empty()
        except (Failed, OSError, TimeoutError) as problem:
            failure = " ".join(filter(None, (failure, _sentence(problem))))
        self._judge(name, failure, figures, time.monotonic() - start)

    async def run(self):
        await self._env.begin()
        for number in range(1, self._runs + 1):
            say(f"run {number} of {self._runs}")
            for name in self._names:
                await self._case(name, lambda: CASES[name](self._env))
                for relay in self._env.lasting:
                    if relay.status is not None:
                        raise Failed(f"{relay.name} ended with status {relay.status}; no further case can run")
            for relay in self._env.lasting:
                # A sanitizer keeps freed memory, so it is never stable.
                resident = await relay.settled() if self._runs > 2 else relay.resident()
                self._memory.setdefault(relay.name, []).append(resident)
        await self._case("memory", self._compare_memory)
        await self._case("log", self._search_logs)
        self._judge_end(await self._env.end())

    def _judge_end(self, statuses):
        wrong = [f"{name} ended with status {status}" for name, status in statuses.items() if status != 0]
        self._judge("end", "; ".join(wrong), "both relays ended with status 0 on SIGTERM", 0)

    async def _compare_memory(self):
        """Compares the memory (RSS) of the two lasting relays after the last case of each run, when the gauges are
        0.
        """
        figures = []
        for name, kibibytes in self._memory.items():
            figures.append(f"{name} {' -> '.join(f'{value / 1024:.1f}' for value in kibibytes)} MiB")
            later = kibibytes[1:]
            if len(later) > 1:
                difference = (max(later) - min(later)) / min(later)
                figures[-1] += f" ({difference:.1%} from the second run on)"
                if difference > GROWTH:
                    raise Failed(f"RSS after the runs: {'; '.join(figures)}; {GROWTH:.0%} is the limit")
        if self._runs < 3:
            figures.append("not compared, as there were fewer than three runs")
        return f"RSS after the runs: {'; '.join(figures)}"

    async def _search_logs(self):
        lines, tunnels = privacy.search(self._env.folder, self._env.load)
        load = self._env.load
        return (f"searched {lines} lines of {tunnels} ended tunnels: none contains any of {len(load.addresses)} "
                "addresses, "
                f"{len(load.tunnel_ids)} tunnel IDs, {len(load.routing_ids)} routing IDs, {len(load.secrets)} secrets")


def _sentence(problem):
    return str(problem) if isinstance(problem, Failed) else repr(problem)


async def battery(options, program, folder):
    env = TestEnvironment(program, folder)
    battery = Battery(env, options.cases, options.runs)
    try:
        await battery.run()
    except Failed as failure:
        battery.failed += 1
        say(f"abuse: {failure}")
    finally:
        env.kill()
    return battery


def main():
    options, program = arguments()
    # Some cases cause handshake failures on purpose.
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    folder = Path(tempfile.mkdtemp(prefix="hybrid-abuse-"))
    start = time.monotonic()
    try:
        done = asyncio.run(interruptible(battery(options, program, folder)))
    except Interrupted as interruption:
        say(f"abuse: {interruption}; the files so far are in {folder}")
        return 128 + interruption.number
    say(f"{done.passed} passed, {done.failed} failed in {time.monotonic() - start:.0f} s")
    if done.failed or options.keep:
        say(f"logs and final metrics are in {folder}")
    else:
        shutil.rmtree(folder)
    return 1 if done.failed else 0


if __name__ == "__main__":
    sys.exit(main())
