# SPDX-License-Identifier: Apache-2.0
"""Our giver and our receiver end with SIGKILL at system calls: no passkey is lost, and none is twice in a vault.

A kill at a system call that makes a change of a file visible or durable, or that sends to the relay, shows every state that others
can see: between two of them, only the memory of the program changes.
"""
from functools import partial
from itertools import count

from environment import LIMIT
from harness.waiting import must

ACCOUNTS = ["ada@example.com", "bob@example.com"]
# More than one batch of 64.
MANY = [f"user{number:02}@example.com" for number in range(66)]
FILE_CALLS, MESSAGE_CALLS = ("fsync", "linkat", "renameat", "unlinkat"), ("writev",)
# A point of each kind: the second passkey, the state after both of them, and a message that says so. The last number that a run
# reaches counts, because messages may share a system call.
FEW = {"fsync": (12,), "linkat": (2,), "unlinkat": (2,), "writev": (7, 6, 5, 4)}

# Of a join: a file that is not durable yet, files of which some are there, and a message.
JOIN_FEW = {"join": {"fsync": (8,), "renameat": (5,), "writev": (4,)},
            "hand over": {"fsync": (2,), "renameat": (1,), "writev": (4,)}}


def killing(call, number):
    """A command that starts another one, and kills it at a system call."""
    return ("strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={call}", "-e", f"inject={call}:signal=SIGKILL:when={number}")


class Killed:
    """Transfers whose giver or receiver is killed, each from the same state of both vaults."""

    def __init__(self, env, role, accounts):
        self._env, self._role, self._accounts = env, role, accounts
        self._giver, self._receiver = env.device("ada").with_passkeys(*accounts), env.device("bob").with_passkeys()
        self._devices = self._giver, self._receiver
        for device in self._devices:
            device.save()
        self.points = 0
        self._outcomes = set()

    def at(self, calls):
        """Kills at all system calls of these kinds, or at a few; returns a note for the suite."""
        for call in calls:
            if self._env.is_thorough:
                number = 1
                while self._at(call, number):
                    number += 1
            elif call in FEW:
                must(any(self._at(call, number) for number in FEW[call]), f"expected {self._role} to make {call} more often")
        return f"{self.points} points; passkeys here and there: {', '.join(sorted(self._outcomes))}"

    def _at(self, call, number):
        """Kills at a system call; returns false if there is no such call any more."""
        for device in self._devices:
            device.restore()
        prefix = killing(call, number)
        where = f"{self._role} killed at {call} {number}"
        receiving = self._receiver.receive(prefix=prefix if self._role == "receive" else ())
        giving = None
        # A receiver may be killed before it shows a code.
        if self._env.waiting.until(f"a code or the end ({where})", lambda: receiving.has_code or receiving.status, LIMIT) is True:
            giving = self._giver.give(receiving.code, "--all", "--move", "--timeout", "30",
                                      prefix=prefix if self._role == "give" else ())
        killed, other = (giving, receiving) if self._role == "give" else (receiving, giving)
        self._env.waiting.until(f"its end ({where})", lambda: killed.status is not None, LIMIT)
        if killed.status != -9:
            must(killed.status == 0 and self._env.ended(other).status == 0, f"{where}: it {killed.ending}: {killed.said()}")
            return False
        self._end(other, where)
        self._check(where)
        return True

    def _end(self, other, where):
        """Ends the side that was not killed: it notices the end of the other, or is interrupted while it waits for another one."""
        if other is None:
            return
        digits = other.has("digits")
        if not digits:
            other.stop()
            return
        self._env.waiting.until(f"{other.name} to end ({where})", lambda: other.status is not None, LIMIT)
        must(other.status >= 0, f"{where}: the other side {other.ending}: {other.said()}")

    def _check(self, where):
        self.points += 1
        # Each list fails if a passkey is twice in its vault.
        here, there = self._giver.passkeys, self._receiver.passkeys
        must(sorted({*here, *there}) == self._accounts, f"{where}: expected all passkeys; found {here} and {there}")
        self._outcomes.add(f"{len(here)} and {len(there)}")
        # A further transfer completes the first.
        if here and self.points % 6 == 1:
            self._env.transfer(self._giver, self._receiver, "--all", "--move")
            here, there = self._giver.passkeys, self._receiver.passkeys
            must((here, there) == ([], self._accounts), f"{where}: expected the rest to move; found {here} and {there}")


def _joins(env, role):
    """A device that joins a vault, or the one that hands it over, is killed; a further attempt completes what is missing."""
    old, new = env.device("old").with_passkeys(*ACCOUNTS), env.device("new")
    for device in (old, new):
        device.vault.mkdir(mode=0o700, exist_ok=True)
        (device.folder / "state").mkdir(mode=0o700, exist_ok=True)
        device.save()
    points, outcomes = {}, set()
    for call in (*FILE_CALLS, *MESSAGE_CALLS):
        for number in (count(1) if env.is_thorough else JOIN_FEW[role].get(call, ())):
            for device in (old, new):
                device.restore()
            where = f"{role} killed at {call} {number}"
            joining, giving = _join(env, old, new, role, killing(call, number), where)
            if (joining if role == "join" else giving).status != -9:
                must(env.is_thorough, f"expected {role} to make {call} more often")
                break
            points[call] = points.get(call, 0) + 1
            joining, giving = _join(env, old, new, None, (), where)
            # The key was durable before the end.
            has_key = joining.status == 75 and "has the key of the vault" in joining.said()
            outcomes.add("joined" if has_key else "joined again")
            must(has_key or (joining.status, giving.status) == (0, 0), f"{where}, again: it {joining.ending}: {joining.said()}")
            old.sync_to(new)
            must(new.passkeys == old.passkeys == ACCOUNTS, f"{where}: found {new.passkeys} and {old.passkeys}")
    counts = ", ".join(f"{number} of {call}" for call, number in points.items())
    return f"{sum(points.values())} points ({counts}); {', '.join(sorted(outcomes))}"


def _join(env, old, new, role, prefix, where):
    joining = new.join("--no-wait", prefix=prefix if role == "join" else ())
    giving = None
    if env.waiting.until(f"a code or the end ({where})", lambda: joining.has_code or joining.status, LIMIT) is True:
        giving = old.give(joining.code, "--timeout", "30", prefix=prefix if role == "hand over" else ())
        # A device that is killed before it joins leaves the other one waiting.
        env.waiting.until(f"the end ({where})", lambda: giving.status is not None or joining.status is not None, LIMIT)
        if joining.status is not None and not joining.has("digits"):
            giving.stop()
        env.waiting.until(f"the giver's end ({where})", lambda: giving.status is not None, LIMIT)
        if not joining.has("digits"):
            joining.stop()
    env.waiting.until(f"its end ({where})", lambda: joining.status is not None, LIMIT)
    return joining, giving


def _files(env, role):
    return Killed(env, role, ACCOUNTS).at(FILE_CALLS)


def _messages(env, role):
    return Killed(env, role, MANY if env.is_thorough else ACCOUNTS).at(MESSAGE_CALLS)


CASES = {
    "kill-joining": partial(_joins, role="join"), "kill-handing-over": partial(_joins, role="hand over"),
    **{f"kill-{name}-at-{what}": partial(case, role=role)
       for name, role in (("giver", "give"), ("receiver", "receive"))
       for what, case in (("files", _files), ("messages", _messages))},
}
