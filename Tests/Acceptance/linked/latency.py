# SPDX-License-Identifier: Apache-2.0
"""Times of a sign-in with a linked phone, through a relay that is far away."""
import time

from environment import OurClient
from harness.delayed_address import DelayedAddress
from harness.waiting import must

# Delay in each direction in seconds.
DELAY = 0.2
# A relay allows three contacts of a link at once. The first one fills the store of TLS sessions.
ROUNDS, LINKS = 3, 3
# The goals: round trips from the start to the notification and to the response, and local work until the notification.
NOTIFICATION_TRIPS, TRIPS, NOTIFICATION_WORK = 1, 5, 0.020


def _times(env, delay):
    """Returns the shortest times in seconds from the start to the notification, from the tap to the response, and to both.

    The second value is the account of the shortest sign-in. The tap follows the notification at once. The rest is the load
    of this computer.
    """
    rounds = [one for _ in range(LINKS) for one in _rounds(env, delay)]
    return [min(column) for column in zip(*(times for times, _ in rounds))], min(rounds, key=lambda one: one[0][2])[1]


def _rounds(env, delay):
    """Returns the three times and the account of each sign-in of a new link.

    The first sign-in does not count: it has no TLS session of an earlier one.
    """
    client = OurClient(env)
    # Only a client that saw the passkey being created offers a link.
    credential = env.register(client, env.phone)
    client.link(env.phone, credential)
    relay = env.keep(DelayedAddress(("127.0.0.1", env.relay.port), delay))
    env.phone.listening(relay.port)
    rounds = []
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
        rounds.append(((notified, done - notified, done), _account(relay.log, started, notified, delay)))
    return rounds[1:]


def _account(log, started, notified, delay):
    """Returns a line for each piece of one sign-in, and the notification, with times in round trips (or ms) since the start.

    A piece is sent at this time, and received half a round trip later.
    """
    unit, name = (2 * delay, "trips") if delay else (0.001, "ms")
    lines = [(at - started, f"connection {number} {direction:10} {length or 'end'}")
             for at, number, direction, length in list(log)] + [(notified, "notification")]
    return [f"{at / unit:6.2f} {name} {text}" for at, text in sorted(lines)]


def latency(env):
    """How long a sign-in takes beside the user, and how many round trips to the relay, with 200 ms each way."""
    near, local = _times(env, 0)
    far, account = _times(env, DELAY)
    trips = [(after - before) / (2 * DELAY) for before, after in zip(near, far)]
    parts = ("from the start to the notification", "from the tap to the response", "in all")
    note = "; ".join(f"{part} {1000 * time:.0f} ms + {count:.1f} round trips"
                     for part, time, count in zip(parts, near, trips))
    note += "".join(f"\n    {line}" for line in account)
    # Notification: the contact, in early data. Response: half of the phone's request to join, half of message 1, and three
    # messages. A tenth is the inaccuracy of the clocks.
    must(trips[0] <= NOTIFICATION_TRIPS + 0.1 and trips[2] <= TRIPS + 0.1 and near[0] <= NOTIFICATION_WORK,
         f"expected {NOTIFICATION_TRIPS} round trip + {1000 * NOTIFICATION_WORK:.0f} ms until the notification, and "
         f"{TRIPS} round trips in all; found {note}\nwithout a delay:\n" + "\n".join(f"    {line}" for line in local))
    return note
