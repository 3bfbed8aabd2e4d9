# SPDX-License-Identifier: Apache-2.0
"""Cases of processes that die: age while the code is shown, and hybrid-key while it makes or changes a key."""
import os
import signal
import time

import age
from environment import succeeded
from files import encrypted
from harness.programs import session_members
from harness.waiting import must, poll
from life import QUICK
from python_phone import PythonPhone

# A code that nobody waits for must not stay on the screen; only a busy machine needs so many seconds.
CLOSES_WITHIN = 10.0


def age_killed(env):
    """age is killed while the code is shown: the window closes, and nothing is left."""
    program = env.run("age", "-d", "-i", env.file(QUICK), encrypted(env, env.identity(QUICK).recipient))
    prompt = env.prompts.next(program=program)
    began = time.monotonic()
    program.kill()
    gone = poll(lambda: prompt.is_gone, 30, pause=0.005)
    seconds = time.monotonic() - began
    must(gone and seconds < CLOSES_WITHIN,
         f"expected the window to close within {CLOSES_WITHIN} s; it took {seconds:.2f}")
    must(poll(lambda: not session_members(program.pid), 30), f"expected no process to remain; found "
                                                             f"{session_members(program.pid)}")
    must(poll(lambda: not env.radio.adverts(), 30), "expected no advert afterwards; found one")
    return f"{seconds:.2f} s"


def _recipient():
    return age.recipient_of(age.point_of(age.private_key(age.new_identity())))


def create_killed(env):
    """SIGKILL before, between and after the approvals of a creation: no key or a whole one, and the name is free."""
    seen = []
    for approvals in (0, 1, 2, "all"):
        name = f"killed-{approvals}"
        phone = PythonPhone(env)
        program = env.secret("create", name, "--no-copy", "--also-to", _recipient())
        if approvals == "all":
            _kill_when_written(env, program, [phone, phone], env.file(name))
        else:
            _kill_after(env, program, [phone] * approvals, approvals < 2)
        seen.append(_whole(env, name, None, phone))
        # The name can be used, whatever was left behind.
        if approvals == 1:
            env.create(name, "--no-copy", "--also-to", _recipient(), phones=[phone, phone])
            _whole(env, name, None, phone)
    return ", ".join(seen)


def add_phone_killed(env):
    """SIGKILL at each stage of add-phone: the file is the old one, or the new one with both phones."""
    seen = []
    first = PythonPhone(env)
    env.create("grown", "--no-copy", "--also-to", _recipient(), phones=[first, first])
    for approvals in (0, 1, 2, 3, "all"):
        second = PythonPhone(env)
        phones, old = [first, second, second], env.file("grown").read_bytes()
        program = env.secret("add-phone", "grown")
        if approvals == "all":
            _kill_when_written(env, program, phones, env.file("grown"))
        else:
            _kill_after(env, program, phones[:approvals], approvals < 3)
        seen.append(_whole(env, "grown", old, first))
    check = env.secret("check", "grown")
    env.approved(check, first)
    succeeded(check)
    return ", ".join(seen)


def _kill_after(env, program, phones, is_asking):
    """Kills a program after some approvals: at the next code if it is asking, otherwise at once."""
    for phone in phones:
        env.answer(env.prompts.next(program=program), phone)
    prompt = env.prompts.next(program=program) if is_asking else None
    os.kill(program.pid, signal.SIGKILL)
    env.ended(program)
    if prompt:
        must(poll(lambda: prompt.is_gone, 30), "expected the prompt to close; it did not")
    must(poll(lambda: not session_members(program.pid), 30), f"expected no process to remain; found "
                                                             f"{session_members(program.pid)}")


def _kill_when_written(env, program, phones, file):
    """Kills a program as soon as its file is new."""
    def content():
        return file.read_bytes() if file.exists() else None

    old = content()
    for phone in phones:
        env.answer(env.prompts.next(program=program), phone)
    poll(lambda: content() != old or program.status is not None, 30, pause=0)
    program.kill()


def _whole(env, name, old, phone):
    """Checks that a key's file is the old one, or a new one that the phone opens; returns which."""
    file = env.file(name)
    if not file.exists():
        must(old is None, f"expected the file of {name}; it has gone")
        return "none"
    if file.read_bytes() == old:
        return "old"
    key = env.identity(name)
    identifier = key.phones[0].credential_id
    opened = key.open(phone.results(identifier, key.nonce), identifier)
    must(opened, "expected the phone to open the key")
    return "new"


CASES = {"age-killed": age_killed, "create-killed": create_killed, "add-phone-killed": add_phone_killed}
