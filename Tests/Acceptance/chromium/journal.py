# SPDX-License-Identifier: Apache-2.0
"""Log of steps as JSON lines: `seconds` since the start of the run, `clock` as in Chromium's log, `step`, details."""
import json
import time
from datetime import datetime


class Journal:
    def __init__(self, path):
        self._path = path
        self._start = time.monotonic()

    def note(self, step, **details):
        clock = datetime.now().strftime("%H:%M:%S.%f")[:-3]
        entry = {"seconds": round(time.monotonic() - self._start, 3), "clock": clock, "step": step, **details}
        with open(self._path, "a", encoding="utf-8") as file:
            file.write(json.dumps(entry, default=repr) + "\n")
