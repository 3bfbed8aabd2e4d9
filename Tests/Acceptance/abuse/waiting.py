# SPDX-License-Identifier: Apache-2.0
"""Waiting for states, each wait bounded; work for many at once; signals."""
import asyncio
import inspect
import signal
import time


class Failed(Exception):
    """Something was not as it must be; the text says what was expected and what was found."""


class Interrupted(Exception):
    """A signal asked us to end."""

    def __init__(self, number):
        super().__init__(f"interrupted by {signal.Signals(number).name}")
        self.number = number


def require(condition, sentence):
    if not condition:
        raise Failed(sentence)


async def until(what, look, seconds, pause=0.05):
    """Looks again and again, and returns the first thing seen that is true; `look` may be asynchronous.

    Nobody sleeps here until something "should be done by then"; the pause between two looks is all.
    """
    end = time.monotonic() + seconds
    while True:
        seen = look()
        if inspect.isawaitable(seen):
            seen = await seen
        if seen:
            return seen
        if time.monotonic() > end:
            raise Failed(f"waited {seconds} s for {what}")
        await asyncio.sleep(pause)


async def standstill(what, number, seconds=30, looks=10, **options):
    """Waits until a number has stood still for `looks` looks in a row, and returns it."""
    seen = []

    def look():
        seen.append(number())
        del seen[:-looks]
        return len(seen) == looks and len(set(seen)) == 1

    await until(what, look, seconds, **options)
    return seen[-1]


async def within(seconds, what, awaitable):
    """The result of something that must come in time."""
    try:
        async with asyncio.timeout(seconds):
            return await awaitable
    except TimeoutError:
        raise Failed(f"waited {seconds} s for {what}") from None


async def at_once(limit, work, items):
    """Awaits `work(item)` for every item, at most `limit` at the same time; the results are in the items' order."""
    items = list(items)
    results = [None] * len(items)
    pending = iter(enumerate(items))

    async def worker():
        for index, item in pending:
            results[index] = await work(item)

    workers = [asyncio.create_task(worker()) for _ in range(min(limit, len(items)))]
    try:
        await asyncio.gather(*workers)
    finally:
        for task in workers:
            task.cancel()
    return results


async def interruptible(work):
    """Runs `work`, a coroutine; SIGINT, SIGTERM and SIGHUP cancel it, so that what it has started is stopped."""
    task = asyncio.current_task()
    caught = []

    def catch(number):
        caught.append(number)
        task.cancel()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, catch, number)
    try:
        return await work
    except asyncio.CancelledError:
        if caught:
            raise Interrupted(caught[0]) from None
        raise
