# SPDX-License-Identifier: Apache-2.0
"""Requests whose ssh, program, prompt or agent ends: soon nothing is left, on either host."""
import os
import shlex
import signal
import time

from environment import website
from harness.waiting import must, poll

# The time in seconds until nothing is left, also on a busy machine; otherwise a fraction of a second.
SOON = 20.0


class Waiting:
    """A sign-in that waits for its user, in one of two stages."""

    def __init__(self, env, stage):
        self.env, self.agent = env, env.start_agent()
        env.needs_passkey()
        self.before = len(env.journal())
        self.ask = env.ask(self.agent, env.site.request_options())
        self.prompt = env.question(self.ask)
        if stage == "code":
            self.prompt.answer("proceed")
            env.code(self.prompt, self.ask)
        self.remote, = env.b.processes()

    def until_nothing_is_left(self):
        """Returns the time in seconds until prompt, ceremony and program are gone."""
        began = time.monotonic()
        left = {"the prompt": lambda: not self.prompt.is_gone, "the ceremony": self.agent.ceremonies,
                "hybrid-remote on b": self.env.b.processes}

        def look():
            return not any(is_left() for is_left in left.values())

        must(poll(look, SOON), f"expected nothing after {SOON} s; found "
                                     f"{[what for what, is_left in left.items() if is_left()]}")
        return time.monotonic() - began


STAGES = ("question", "code")


def _each(end):
    """Returns the times of an end at both stages."""
    return lambda env: "; ".join(f"{stage}: {end(env, stage):.2f} s" for stage in STAGES)


def _ssh_killed(env, stage):
    waiting = Waiting(env, stage)
    waiting.ask.kill()
    seconds = waiting.until_nothing_is_left()
    env.recorded(waiting.before, ("cancelled", "b.test"))
    return seconds


def _remote_killed(env, stage):
    waiting = Waiting(env, stage)
    os.kill(waiting.remote, signal.SIGKILL)
    seconds = waiting.until_nothing_is_left()
    env.ended(waiting.ask)
    env.recorded(waiting.before, ("cancelled", "b.test"))
    return seconds


def _prompt_killed(env, stage):
    waiting = Waiting(env, stage)
    os.kill(int(waiting.prompt.name), signal.SIGKILL)
    seconds = waiting.until_nothing_is_left()
    env.ended(waiting.ask)
    must(waiting.ask.status in (69, 77), f"expected a refusal; it {waiting.ask.ending}: {waiting.ask.said()}")
    return seconds


def _agent_killed(env, stage):
    waiting = Waiting(env, stage)
    waiting.agent.program.kill()
    seconds = waiting.until_nothing_is_left()
    env.ended(waiting.ask)
    must(waiting.ask.status == 69 and waiting.ask.complaint(), f"expected status 69; it {waiting.ask.ending}")
    return seconds


# Asks, ends its own direction only, and waits for the end of the other one.
HALF_CLOSE = """import os, socket, struct, sys, time
agent = socket.socket(socket.AF_UNIX)
agent.connect(os.environ["SSH_AUTH_SOCK"])
message = bytes.fromhex(sys.stdin.readline())
agent.sendall(struct.pack(">I", len(message)) + message)
while not os.path.exists("/tmp/close"): time.sleep(0.01)
agent.shutdown(socket.SHUT_WR)
print("end" if not agent.recv(1) else "answer", flush=True)
"""


def half_closed(env):
    """A program that ends its direction only has left, because sshd passes no more than that of one that is killed."""
    waiting_agent = env.start_agent()
    env.needs_passkey()
    message = website("get", env.site.request_options())
    run = env.ssh(waiting_agent, shlex.join(["python3", "-c", HALF_CLOSE]), text=message.hex() + "\n")
    prompt = env.question(run)
    (env.b.folder / "close").touch()
    env.ended(run)
    must("end" in run.said().split(), f"expected the end of the connection; found {run.said()}")
    must(poll(lambda: prompt.is_gone, SOON), "expected the prompt to close; it did not")


ENDINGS = {
    "ssh-killed": _each(_ssh_killed), "remote-killed": _each(_remote_killed), "prompt-killed": _each(_prompt_killed),
    "agent-killed": _each(_agent_killed), "half-closed": half_closed,
}
