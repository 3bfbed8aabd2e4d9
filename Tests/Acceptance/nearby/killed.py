# SPDX-License-Identifier: Apache-2.0
"""Transfers that end with kill -9 at every message of either side: no passkey is lost, and none is twice in a vault."""
from harness.waiting import must

#: Messages of a receiver and of a giver.
RECEIVER_MESSAGES = ("hello", "reveal", "accept", "stored")
GIVER_MESSAGES = ("hello", "offer", "items", "done")
ACCOUNTS = ["ada@example.com", "bob@example.com"]


def killed_receivers(env):
    """transfer.py is killed before and after each message that it sends; our giver deletes only what was confirmed."""
    giver = env.device("ada").with_passkeys(*ACCOUNTS)
    before = giver.records()
    for kind in RECEIVER_MESSAGES:
        for moment in ("before", "after"):
            receiving = env.python("receive", "--die", f"{moment}:{kind}")
            giving = giver.give(receiving.code, "--all", "--move")
            env.waiting.until("both to end", lambda: None not in (giving.status, receiving.status), 60)
            must(receiving.status == -9, f"{moment} {kind}: it {receiving.ending}: {receiving.said()}")
            # After `stored`, the receiver has everything, whether or not the message arrived before its end.
            is_confirmed = (moment, kind) == ("after", "stored")
            must(giver.records() == before or is_confirmed, f"{moment} {kind}: a passkey was deleted: {giving.said()}")
            must(giving.status != 0 or is_confirmed, f"{moment} {kind}: expected a failure; it {giving.ending}")
            if is_confirmed:
                must(giver.passkeys == ([] if giving.status == 0 else ACCOUNTS), f"found {giver.passkeys}")
    return f"{2 * len(RECEIVER_MESSAGES)} points"


def killed_givers(env):
    """transfer.py is killed before and after each message that it sends; our receiver has all of a batch or nothing."""
    receiver = env.device("bob").with_passkeys()
    for kind in GIVER_MESSAGES:
        for moment in ("before", "after"):
            before = receiver.records()
            receiving = receiver.receive()
            giving = env.python("give", "--new", "2", "--die", f"{moment}:{kind}", text=receiving.code + "\n")
            env.waiting.until("both to end", lambda: None not in (giving.status, receiving.status), 60)
            must(giving.status == -9, f"{moment} {kind}: it {giving.ending}: {giving.said()}")
            new = len(receiver.records() - before)
            must(new in (0, 2), f"{moment} {kind}: expected 0 or 2 new passkeys; found {new}")
            must(receiving.status == 0 or new == 0,
                 f"{moment} {kind}: {new} new; it {receiving.ending}: {receiving.said()}")
            if receiving.status == 0:
                # transfer.py gives the same passkeys each time.
                there = receiving.result["added"] + len(receiving.result["present"])
                must(there == 2, f"{moment} {kind}: expected both passkeys; found {receiving.result}")
    must(len(receiver.passkeys) == len(receiver.records()), "expected no passkey twice")
    return f"{2 * len(GIVER_MESSAGES)} points"
