# SPDX-License-Identifier: Apache-2.0
"""Transfers with a counterpart that breaks one rule."""
import transfer
from harness.waiting import must

ACCOUNTS = ["ada@example.com", "bob@example.com"]
# The code of our side's failure, where it is not `transfer-malformed`; None if the fault is none for our side: a receiver may store
# nothing, and a passkey that comes twice is skipped.
OF_RECEIVERS = {
    "wrong-sha": "transfer-unconfirmed", "wrong-id": "transfer-unconfirmed", "doubled-id": "transfer-unconfirmed", "no-ids": None,
    "wrong-commitment": "transfer-manipulated", "wrong-nonce": "transfer-manipulated", "other-version": "transfer-version",
    "other-purpose": "transfer-purpose", "oversized": "receiver-vanished", "refuse-full": "transfer-refused",
    "refuse-digits": "transfer-refused",
}
OF_GIVERS = {
    "doubled-item": None, "repeated-batch": None, "oversized": "giver-vanished", "wrong-last": "transfer-manipulated",
    "other-binding": "transfer-manipulated", "other-version": "transfer-version", "refuse-declined": "transfer-refused",
}
# Exit statuses, where not 65.
STATUSES = {"oversized": 75, "refuse-full": 74, "refuse-digits": 77, "refuse-declined": 77}
# More than one batch may have.
MANY = 66


def _check(run, fault, codes):
    """Checks how our side ended, and that it says why."""
    code = codes.get(fault, "transfer-malformed")
    status = 0 if code is None else STATUSES.get(fault, 65)
    must(run.status == status, f"{fault}: expected status {status}; it {run.ending}: {run.said()}")
    if code is not None:
        must(run.failure["code"] == code and run.failure["message"], f"{fault}: expected {code}; found {run.said()}")


def hostile_receivers(env):
    """Our giver ends with a sentence, and deletes nothing that was not confirmed."""
    giver = env.device("ada").with_passkeys(*ACCOUNTS)
    before = giver.records()
    for fault in transfer.RECEIVER_FAULTS:
        receiving = env.python("receive", "--fault", fault)
        giving = giver.give(receiving.code, "--all", "--move")
        env.waiting.until(f"both to end ({fault})", lambda: None not in (giving.status, receiving.status), 60)
        must(giver.records() == before, f"{fault}: expected no deleted passkey: {giving.said()}")
        _check(giving, fault, OF_RECEIVERS)
    must(giver.passkeys == ACCOUNTS, f"expected no lost passkey; found {giver.passkeys}")
    return f"{len(transfer.RECEIVER_FAULTS)} faults"


def hostile_givers(env):
    """Our receiver ends with a sentence, and its vault works."""
    receiver = env.device("bob").with_passkeys("mine@example.com")
    for fault in transfer.GIVER_FAULTS:
        before = receiver.records()
        receiving = receiver.receive()
        count = MANY if fault == "too-many" else 3
        giving = env.python("give", "--new", str(count), "--fault", fault, text=receiving.code + "\n")
        env.waiting.until(f"both to end ({fault})", lambda: None not in (giving.status, receiving.status), 60)
        must(before <= receiver.records(), f"{fault}: expected no lost record")
        _check(receiving, fault, OF_GIVERS)
        is_fair = OF_GIVERS.get(fault, "") is None
        must(is_fair or receiver.records() == before, f"{fault}: expected nothing to be stored")
    offered = {f"user {number}" for number in range(3)}
    found = set(receiver.passkeys)
    must("mine@example.com" in found and found <= {"mine@example.com", *offered},
         f"expected the passkey from before, and none that was not offered; found {found}")
    return f"{len(transfer.GIVER_FAULTS)} faults"
