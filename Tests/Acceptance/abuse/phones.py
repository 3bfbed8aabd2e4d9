# SPDX-License-Identifier: Apache-2.0
"""Linked phones that listen at a relay and connect again as real ones do, and clients that contact them."""
import asyncio
import random
import secrets
import time

from harness.async_waiting import Failed, at_once, require, until, within
from harness.contact import PATIENCE, RESTART, ContactKey, closed_with, contact, join, listen, phone_joined

# Seconds until a phone connects again, at random: after a restart that the relay announced, and otherwise.
AFTER_DRAIN, OTHERWISE = (1, 5), (1, 40)
# Phones of one address, below the relay's limit for a source.
PER_SOURCE = 16
AT_ONCE = 100


def new_key(load):
    """Returns a contact key whose ID may occur in no log."""
    key = ContactKey()
    load.secrets.add(key.text)
    return key


def new_payload(load):
    """Returns a client's payload, which may occur in no log."""
    payload = secrets.token_bytes(54)
    load.secrets.add(payload.hex())
    return payload


class Phone:
    """A phone that joins each tunnel for which it is woken, and returns every message."""

    def __init__(self, load, door, **options):
        self.key = new_key(load)
        self._load, self._door = load, door
        self._connect = load.opener(door, **options)
        #: The time when it began to listen; None while it does not.
        self.since = None
        #: The number of the node that woke it last.
        self.node = None
        self.wakes = 0
        self._listener = None
        self._tunnels = set()
        self._task = asyncio.ensure_future(self._run())

    async def _run(self):
        while True:
            delay = AFTER_DRAIN
            try:
                self._listener = await listen(self._connect, self.key)
                self.since = time.monotonic()
                await self._listen()
            except (Failed, OSError):
                if self._listener and self._listener.code != RESTART and self.since:
                    delay = OTHERWISE
            self.since = self._listener = None
            await asyncio.sleep(random.uniform(*delay))

    async def _listen(self):
        # Without a wake-up, this ends with the connection.
        while True:
            wake = await self._listener.wake(seconds=86_400)
            self.wakes += 1
            self.node = int.from_bytes(wake.routing[:2], "big")
            task = asyncio.ensure_future(self._serve(wake))
            self._tunnels.add(task)
            task.add_done_callback(self._tunnels.discard)

    async def _serve(self, wake):
        try:
            end = await join(self._connect, wake)
            while True:
                end.send(await end.receive())
        except Failed:
            pass

    async def ring(self, door=None):
        """Contacts the phone as a client, exchanges a message and closes; returns the seconds until it joined."""
        start = time.monotonic()
        # Each client has an address of its own, because few contacts of one may wait.
        client = self._load.opener(door or self._door, source=self._load.fresh_source())
        end = await contact(client, self.key.text, new_payload(self._load))
        await phone_joined(end)
        seconds = time.monotonic() - start
        message = secrets.token_bytes(300)
        end.send(message)
        back = await within(PATIENCE, "the phone's answer", end.receive())
        require(back == message, f"expected the message of 300 bytes from the phone; found another of {len(back)}")
        end.say_close()
        await closed_with(end, 1000, "the client's connection to close")
        return seconds

    def end(self):
        for task in (self._task, *self._tunnels):
            task.cancel()
        if self._listener:
            self._listener.hang_up()


class Phones:
    """Many phones at one door."""

    def __init__(self, load, door, count):
        if door.counts_peers:
            self.all = [Phone(load, door, bind=load.named(f"127.65.{number // PER_SOURCE // 250}."
                                                          f"{1 + number // PER_SOURCE % 250}"))
                        for number in range(count)]
        else:
            sources = [load.fresh_source() for _ in range(-(-count // PER_SOURCE))]
            self.all = [Phone(load, door, source=sources[number // PER_SOURCE]) for number in range(count)]

    @property
    def listening(self):
        return sum(phone.since is not None for phone in self.all)

    async def listen(self, seconds=60):
        """Waits until all listen."""
        await until(f"{len(self.all)} phones to listen", lambda: self.listening == len(self.all), seconds)

    async def return_since(self, moment, phones=None, seconds=60):
        """Waits until phones listen on connections made after a moment; returns the times of these connections."""
        phones = phones or self.all
        # A connection that has ended since is a return, too.
        times = {}

        def look():
            times.update((phone, phone.since) for phone in phones if phone.since and phone.since > moment)
            return len(times) == len(phones)

        await until(f"{len(phones)} phones to listen again", look, seconds)
        return sorted(times.values())

    async def ring(self, phones=None, times=1):
        """Contacts each phone; returns the seconds until each joined."""
        return await at_once(AT_ONCE, lambda phone: phone.ring(), (phones or self.all) * times)

    def end(self):
        for phone in self.all:
            phone.end()
