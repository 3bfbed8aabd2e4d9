# SPDX-License-Identifier: Apache-2.0
"""Times of a sign-in with a linked phone, through a relay that is far away."""
import contextlib
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

    The kernel accepts connections without delay, so the round trip of the TCP handshake is missing.
    """

    def __init__(self, port, delay):
        self._relay_port, self._delay = port, delay
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                peer, _ = self._socket.accept()
                relay = socket.create_connection(("127.0.0.1", self._relay_port))
                for source, target in ((peer, relay), (relay, peer)):
                    source.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    chunks = queue.SimpleQueue()
                    threading.Thread(target=self._read, args=(source, chunks), daemon=True).start()
                    threading.Thread(target=self._write, args=(target, chunks), daemon=True).start()

    def _read(self, source, chunks):
        data = b"-"
        while data:
            try:
                data = source.recv(65536)
            except OSError:
                data = b""
            chunks.put((time.monotonic() + self._delay, data))

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
    """Returns the shortest times in seconds from the start of the command to the notification, and to the response."""
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
        started = time.monotonic()
        run = client.show(options, port=relay.port)
        env.accepted(run, options)
        done = run.event("done")["elapsed_ms"] / 1000
        must(run.never_showed_code(), f"expected no code; found {run.states}")
        env.phone.heard("answered the request of", answered + 1)
        times.append((env.notifications.questions[shown].at - started, done))
    # The rest is the load of this computer.
    return [min(column) for column in zip(*times)]


def latency(env):
    """How long a sign-in takes beside the user, and how many round trips to the relay, with 200 ms each way."""
    credential = env.register(OurClient(env), env.phone)
    near = _times(env, credential, 0)
    far = _times(env, credential, DELAY)
    trips = [(after - before) / (2 * DELAY) for before, after in zip(near, far)]
    # TLS takes one, and the wake-up half a trip on each side. A slow computer must not make this fail.
    must(trips[0] < 4 and trips[1] < 11, f"expected few round trips; found {trips}")
    return (f"notification after {1000 * near[0]:.0f} ms + {trips[0]:.1f} round trips, response after "
            f"{1000 * near[1]:.0f} ms + {trips[1]:.1f} round trips")
