# SPDX-License-Identifier: Apache-2.0
"""Transfers with a counterpart that breaks one rule."""
import transfer
from harness.waiting import must

ACCOUNTS = ["ada@example.com", "bob@example.com"]


def hostile_receivers(env):
    """Our giver ends with a sentence, and deletes nothing that was not confirmed."""
    giver = env.device("ada").with_passkeys(*ACCOUNTS)
    before = giver.records()
    for fault in transfer.RECEIVER_FAULTS:
        receiving = env.python("receive", "--fault", fault)
        giving = giver.give(receiving.code, "--all", "--move")
        env.waiting.until(f"both to end ({fault})", lambda: None not in (giving.status, receiving.status), 60)
        must(giver.records() == before, f"{fault}: expected no deleted passkey: {giving.said()}")
        # A receiver that stores nothing breaks no rule: the passkeys stay.
        is_fair = fault == "no-ids"
        must((giving.status == 0) == is_fair, f"{fault}: it {giving.ending}: {giving.said()}")
        must(is_fair or giving.failure["message"], f"{fault}: expected a sentence; found {giving.said()}")
    must(giver.passkeys == ACCOUNTS, f"expected no lost passkey; found {giver.passkeys}")
    return f"{len(transfer.RECEIVER_FAULTS)} faults"


def hostile_givers(env):
    """Our receiver ends with a sentence, and its vault works."""
    receiver = env.device("bob").with_passkeys("mine@example.com")
    for fault in transfer.GIVER_FAULTS:
        before = receiver.records()
        receiving = receiver.receive()
        giving = env.python("give", "--new", "3", "--fault", fault, text=receiving.code + "\n")
        env.waiting.until(f"both to end ({fault})", lambda: None not in (giving.status, receiving.status), 60)
        must(before <= receiver.records(), f"{fault}: expected no lost record")
        must(receiving.status >= 0, f"{fault}: it {receiving.ending}")
        if receiving.status != 0:
            must(receiving.failure["message"], f"{fault}: expected a sentence; found {receiving.said()}")
    offered = {f"user {number}" for number in range(3)}
    found = set(receiver.passkeys)
    must("mine@example.com" in found and found <= {"mine@example.com", *offered},
         f"expected the passkey from before, and none that was not offered; found {found}")
    return f"{len(transfer.GIVER_FAULTS)} faults"
