# SPDX-License-Identifier: Apache-2.0
"""Times of a sign-in with a linked phone, through a relay that is far away."""
import contextlib
import itertools
import queue
import socket
import threading
import time

from environment import OurClient
from harness.waiting import must

# Delay in each direction in seconds.
DELAY = 0.2
# A relay allows three contacts at once.
ROUNDS = 2


class DelayedRelay:
    """Forwards connections to a relay, and holds back all bytes in both directions for the same time.

    The kernel accepts connections without delay, so the round trip of the TCP handshake is missing. The log has an entry
    for each piece: time at which it was sent, number of the connection, direction, length.
    """

    def __init__(self, port, delay):
        self._relay_port, self._delay = port, delay
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self.log, self._connections = [], itertools.count(1)
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                peer, _ = self._socket.accept()
                relay = socket.create_connection(("127.0.0.1", self._relay_port))
                number = next(self._connections)
                for source, target, direction in ((peer, relay, "to relay"), (relay, peer, "from relay")):
                    source.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    chunks = queue.SimpleQueue()
                    threading.Thread(target=self._read, args=(source, chunks, number, direction), daemon=True).start()
                    threading.Thread(target=self._write, args=(target, chunks), daemon=True).start()

    def _read(self, source, chunks, number, direction):
        data = b"-"
        while data:
            try:
                data = source.recv(65536)
            except OSError:
                data = b""
            now = time.monotonic()
            self.log.append((now, number, direction, len(data)))
            chunks.put((now + self._delay, data))

    def _write(self, target, chunks):
        with contextlib.suppress(OSError):
            while True:
                due, data = chunks.get()
                time.sleep(max(0, due - time.monotonic()))
                if not data:
                    target.shutdown(socket.SHUT_WR)
                    return
                target.sendall(data)

    def stop(self):
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        return []


def _times(env, credential, delay):
    """Returns the shortest times in seconds from the start to the notification, from the tap to the response, and to both.

    The tap follows the notification at once.
    """
    # A link of its own, because the relay limits contacts for each.
    client = OurClient(env)
    client.link(env.phone, credential)
    relay = env.keep(DelayedRelay(env.relay.port, delay))
    env.phone.listening(relay.port)
    times = []
    for _ in range(ROUNDS):
        shown = len(env.notifications.questions)
        answered = env.phone.listener.said().count("answered the request of")
        options = env.request(credential)
        relay.log.clear()
        started = time.monotonic()
        run = client.show(options, port=relay.port)
        env.accepted(run, options)
        done = run.event("done")["elapsed_ms"] / 1000
        must(run.never_showed_code(), f"expected no code; found {run.states}")
        env.phone.heard("answered the request of", answered + 1)
        notified = env.notifications.questions[shown].at - started
        times.append((notified, done - notified, done))
        _account(env.folder.path(f"trips-{env.number()}.txt"), relay.log, started, delay)
    # The rest is the load of this computer.
    return [min(column) for column in zip(*times)]


def _account(path, log, started, delay):
    """Writes the pieces of one sign-in, with their times in round trips since its start (in seconds if there is no delay)."""
    unit = 2 * delay or 1
    with open(path, "w", encoding="ascii") as file:
        for at, number, direction, length in list(log):
            print(f"{(at - started) / unit:6.2f} connection {number} {direction:10} {length or 'end'}", file=file)


def latency(env):
    """How long a sign-in takes beside the user, and how many round trips to the relay, with 200 ms each way."""
    credential = env.register(OurClient(env), env.phone)
    near = _times(env, credential, 0)
    far = _times(env, credential, DELAY)
    trips = [(after - before) / (2 * DELAY) for before, after in zip(near, far)]
    # Notification: TLS, and the contact. Response: TLS of the phone with half of the request to join, half of message 1,
    # and three messages. A slow computer must not make this fail.
    must(trips[0] < 4 and trips[1] < 7 and trips[2] < 9, f"expected few round trips; found {trips}")
    parts = ("from the start to the notification", "from the tap to the response", "in all")
    return "; ".join(f"{part} {1000 * time:.0f} ms + {count:.1f} round trips"
                     for part, time, count in zip(parts, near, trips))
