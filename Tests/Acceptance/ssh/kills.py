# SPDX-License-Identifier: Apache-2.0
"""SIGKILL of each process of a ceremony, at each of its stages: ssh ends soon, and nothing is left."""
import os
import signal
import time
from pathlib import Path

from checks import failed, succeeded
from harness.hybrid_key import nothing_left
from harness.phone import Person
from harness.programs import session_members
from harness.ssh_agent import ALGORITHM
from harness.waiting import must, poll

# Most ends take a tenth of a second. The longest: a ceremony that does not end is killed after eight seconds.
LIMIT = 30


class Login:
    """A login with an agent of its own, which waits for the phone."""

    def __init__(self, env):
        self.env, self.agent, self.phone = env, env.start_agent(), None
        self._before = self._traces()
        self.ssh = env.ssh(env.servers[0], "true", agent=self.agent)
        self.prompt = env.prompts.next(program=self.ssh)
        self.ceremony, = self.agent.ceremonies()

    def process(self, part):
        return {"agent": self.agent.program.pid, "ceremony": self.ceremony, "prompt": int(self.prompt.name),
                "phone": self.phone and self.phone.pid}[part]

    def leaves_nothing(self):
        nothing_left(self.agent.program, self.prompt)
        if self.phone:
            self.env.ended(self.phone)
            must(poll(lambda: not session_members(self.phone.pid), LIMIT), "expected all of the phone's processes to "
                                                                           "end; they did not")
        must(poll(lambda: not self.env.radio.adverts(), LIMIT), "expected no advert afterwards; found one")
        must(poll(lambda: self._traces() == self._before or self.agent.program.status is not None, LIMIT),
             f"expected the agent's descriptors, children and files:\n{self._before}\nfound:\n{self._traces()}")

    def _traces(self):
        """Returns the agent's descriptors and children, and the files that it may create; None if it has ended."""
        process = Path(f"/proc/{self.agent.program.pid}")
        try:
            links = [os.readlink(path) for path in (process / "fd").iterdir()]
            children = [child for task in (process / "task").iterdir() for child in
                        (task / "children").read_text().split()]
        except OSError:
            return None
        # Those of Dispatch, which it opens at any time.
        descriptors = sorted(link for link in links if not link.startswith("anon_inode:"))
        folders = (self.env.folder.sockets, self.env.folder.scratch / "state")
        return descriptors, children, sorted(str(path) for folder in folders for path in folder.rglob("*"))


def scan(login):
    """The code is shown."""


def handshake(login):
    """The phone has the first message of the handshake and does not answer."""
    login.phone = login.env.play(login.prompt, "hang:handshake")
    login.env.waiting.until("the handshake", lambda: "stops responding (handshake)" in login.phone.said(), 60)


def confirm(login):
    """The phone waits for its user."""
    before = len(login.env.phone.dialogues())
    login.phone = login.env.scan(login.prompt, Person(answer="never"))
    login.env.waiting.until("the phone's question", lambda: login.env.phone.asks_more_than(before), 60)
    login.env.waiting.until("the state confirm", lambda: "confirm" in login.prompt.states, 60)


def answer(login):
    """The phone has sent its answer, and the ceremony, which is stopped, has not read it."""
    permission = login.env.folder.scratch / f"permission-{login.prompt.name}"
    login.phone = login.env.scan(login.prompt, Person(permission=permission))
    login.env.waiting.until("the request", lambda: "asks for a sign-in" in login.phone.said(), 60)
    os.kill(login.ceremony, signal.SIGSTOP)
    login.env.waiting.until("the ceremony to stop", lambda: is_stopped(login.ceremony), 60)
    permission.touch()
    login.env.waiting.until("the phone's answer", lambda: "response sent" in login.phone.said(), 60)


STAGES = {"scan": scan, "handshake": handshake, "confirm": confirm, "answer": answer}


def killed_at(stage):
    """Returns the case of a stage."""
    def case(env):
        return "; ".join(f"{part}: {kill(env, stage, part):.1f} s"
                         for part in ("ceremony", "prompt", "phone", "agent") if (stage, part) != ("scan", "phone"))

    case.__doc__ = f"SIGKILL at the stage {stage}, of each process after another."
    return case


def kill(env, stage, part):
    """Returns the seconds from the end of a process to that of ssh."""
    login = Login(env)
    STAGES[stage](login)
    began = time.monotonic()
    os.kill(login.process(part), signal.SIGKILL)
    # With the prompt gone, the agent must also end a ceremony that does not react.
    if stage == "answer" and part in ("phone", "agent"):
        os.kill(login.ceremony, signal.SIGCONT)
    env.ended(login.ssh, LIMIT)
    seconds = time.monotonic() - began
    if (stage, part) == ("answer", "phone"):
        # The answer was complete.
        succeeded(login.ssh)
    else:
        failed(login.ssh)
    login.leaves_nothing()
    if part == "agent":
        # Its socket is left behind; the next agent replaces it.
        agent = env.start_agent(socket=login.agent.socket)
        must(ALGORITHM.decode() in env.offered(agent), "expected another agent to replace the socket; it did not")
    return seconds


def is_stopped(process):
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "T"
