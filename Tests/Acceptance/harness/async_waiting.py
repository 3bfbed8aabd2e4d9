# SPDX-License-Identifier: Apache-2.0
"""Bounded waits for states, concurrent work, signals."""
import asyncio
import inspect
import signal
import time

from harness.waiting import Failed, Interrupted


def require(condition, sentence):
    if not condition:
        raise Failed(sentence)


async def until(what, look, seconds, pause=0.05):
    """Polls and returns the first true result; `look` may be asynchronous.

    No fixed delays: a wait ends as soon as its state is reached.
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
    """Waits until a number is the same in `looks` polls in a row; returns it."""
    seen = []

    def look():
        seen.append(number())
        del seen[:-looks]
        return len(seen) == looks and len(set(seen)) == 1

    await until(what, look, seconds, **options)
    return seen[-1]


async def within(seconds, what, awaitable):
    """Returns the result of an awaitable that must be ready in time."""
    try:
        async with asyncio.timeout(seconds):
            return await awaitable
    except TimeoutError:
        raise Failed(f"waited {seconds} s for {what}") from None


async def at_once(limit, work, items):
    """Awaits `work(item)` for every item, at most `limit` at a time; returns the results in the items' order."""
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
    """Runs the coroutine `work`; SIGINT, SIGTERM and SIGHUP cancel it, so that its processes are stopped."""
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
