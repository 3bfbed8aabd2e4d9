#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Simulated user who answers the questions of hybrid-auth in place of hybrid-ask.

Reads a script from the file that TEST_ASK_SCRIPT names, a JSON object:

  "greeting"   the first line, as an object; null for none; default {"ready": 1}
  KIND         list of answers to questions of this kind ("pin", "account", ...), in order; the last one repeats

An answer is an object that follows {"answer": N}, such as {"pin": "1234"} or {"decline": true}. Other forms:

  "silent"               no answer
  {"raw": TEXT}          this text and a line end, in which %N stands for the number of the question
  {"exit": STATUS}       the program ends
  {"kill": SIGNAL}       the program kills itself
  {"await": FILE, ...}   waits until the file exists, then gives the rest as the answer

Without an answer for a kind, the program declines. Each line that arrives is appended to the file TEST_ASK_LOG; the first
one is {"started": PID}, and the last one {"ended": true} at the end of the input.
"""
import json, os, sys, time


def log(line):
    with open(os.environ["TEST_ASK_LOG"], "a") as file:
        file.write(line.rstrip("\n") + "\n")


def unique(pairs):
    """Returns the members of an object, in which no name may appear twice."""
    members = dict(pairs)
    assert len(members) == len(pairs), "a name appears twice"
    return members


def write(text):
    try:
        os.write(1, (text + "\n").encode())
    except OSError:
        # The other program may have ended; its last lines can still be read.
        pass


def answer(number, action):
    if action == "silent":
        return
    action = dict(action)
    waited = action.pop("await", None)
    while waited and not os.path.exists(waited):
        time.sleep(0.02)
    if "exit" in action:
        os._exit(action["exit"])
    if "kill" in action:
        os.kill(os.getpid(), action["kill"])
    if "raw" in action:
        write(action["raw"].replace("%N", str(number)))
    elif action:
        write(json.dumps({"answer": number, **action}))


def main():
    with open(os.environ["TEST_ASK_SCRIPT"]) as file:
        script = json.load(file)
    log(json.dumps({"started": os.getpid()}))
    greeting = script.get("greeting", {"ready": 1})
    if greeting is not None:
        write(json.dumps(greeting))
    asked = {}
    for line in sys.stdin:
        assert len(line.encode()) <= 1 << 16, "the line is too long"
        log(line)
        message = json.loads(line, object_pairs_hook=unique)
        if "ask" not in message:
            continue
        kind = message["kind"]
        answers = script.get(kind, [{"decline": True}])
        answer(message["ask"], answers[min(asked.get(kind, 0), len(answers) - 1)])
        asked[kind] = asked.get(kind, 0) + 1
    log(json.dumps({"ended": True}))


if __name__ == "__main__":
    main()
