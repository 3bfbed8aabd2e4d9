# SPDX-License-Identifier: Apache-2.0
"""Times of the way from a host to this computer and back, with and without a delay. Needs an idle computer."""
import os
import statistics

from environment import website
from harness.delayed_address import DelayedAddress
from harness.waiting import must

ROUNDS = 10
# Round trip in seconds.
ROUND_TRIP = 0.050
# The goals: until the question, without a delay; what the carrier adds, in round trips and local work in milliseconds.
QUESTION, TRIPS, WORK = 300, 2, 15


def latency(env):
    """From the request to the question, and what the carrier adds to an answer; without a delay, and with 50 ms."""
    path = env.folder.sockets / "near.sock"
    agent = env.start_agent("--named-socket", f"near={path}")
    message = website("get", env.site.request_options(allow="any"))
    env.forget("b.test")
    try:
        # Requests without a permission, which are answered at once.
        near = statistics.median(_took(env, path, message))
        far = env.keep(DelayedAddress((env.b.address, 22), ROUND_TRIP / 2))
        options = {0: (), ROUND_TRIP: ("-o", "HostName=127.0.0.1", "-p", str(far.port))}
        added = {}
        for delay, words in options.items():
            took = env.raw(agent, *[message] * ROUNDS, options=words)
            added[delay] = statistics.median(milliseconds for _, milliseconds in took) - near
    finally:
        env.allow("b.test")
    questions = {delay: statistics.median(_question(env, words) for _ in range(3)) for delay, words in options.items()}
    note = "; ".join(f"{1000 * delay:.0f} ms: {questions[delay]:.0f} ms until the question, the carrier adds "
                     f"{added[delay]:.1f} ms" for delay in options) + f"; an answer without it {near:.1f} ms"
    must(questions[0] <= QUESTION and all(added[delay] <= TRIPS * 1000 * delay + WORK for delay in options),
         f"expected at most {QUESTION} ms until the question, and {TRIPS} round trips + {WORK} ms; found {note}")
    return note


def _took(env, path, message):
    return [milliseconds for _, milliseconds in env.raw_timed(path, *[message] * ROUNDS)]


def _question(env, words):
    """Returns the milliseconds from the start of `hybrid-remote` to the question, which the simulated prompt has written."""
    agent = env.start_agent()
    ask = env.ask(agent, env.site.request_options(allow="any"), *words)
    prompt = env.question(ask)
    # The record is complete until the answer.
    at = os.stat(prompt.path).st_mtime
    began = env.waiting.until("the time of the request", lambda: ask.began, 30)
    prompt.answer("cancel")
    env.ended(ask)
    return 1000 * (at - began)
