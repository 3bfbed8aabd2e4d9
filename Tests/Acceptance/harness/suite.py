# SPDX-License-Identifier: Apache-2.0
"""The course of a suite: all cases in one environment, a line for each, and a folder with logs after a failure."""
import itertools
import shutil
import tempfile
import textwrap
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from harness.folders import RunFolder
from harness.waiting import Failed, Interrupted, Signals


def run_suite(name, cases, environment, *, keep=False, evidence="logs", at_once=1, alone=()):
    """Performs cases and returns the exit status of the suite.

    `cases` has a function for each name, which gets the environment; its result, if any, is a note for the case's
    line. `environment` returns the environment for a run folder and the signals. The folder is kept after a failure,
    or with `keep`; `evidence` says what is in it. With `at_once`, so many cases run at the same time, each in a thread;
    those named in `alone` run when all before them have ended, and those after them wait.
    """
    signals = Signals()
    folder = RunFolder(Path(tempfile.mkdtemp(prefix=f"hybrid-{name}-")) / "run")
    passed, interrupted, left = 0, None, []
    try:
        with environment(folder, signals) as env:
            if env.heading:
                print(f"  {env.heading}", flush=True)
            passed = sum(_perform_all(env, cases, at_once, alone))
        left = env.complaints
    except Failed as error:
        left = [str(error)]
    except Interrupted as error:
        interrupted = error
    for complaint in left:
        print(f"  at the end: {complaint}")
    folder.remove_sockets()
    failed = len(cases) - passed + bool(left)
    if failed or keep:
        folder.remove_scratch()
        print(f"{evidence}: {folder.root}")
    else:
        shutil.rmtree(folder.root.parent, ignore_errors=True)
    if interrupted:
        return 128 + interrupted.number
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


def _perform_all(env, cases, at_once, alone):
    """Returns if each case passed."""
    if at_once == 1:
        return [_perform(env, *case) for case in cases.items()]
    verdicts = []
    for _, group in itertools.groupby(cases.items(), key=lambda case: case[0] if case[0] in alone else None):
        with ThreadPoolExecutor(at_once) as threads:
            running = [threads.submit(_perform, env, *case) for case in group]
            try:
                verdicts += [one.result() for one in running]
            except BaseException:
                threads.shutdown(cancel_futures=True)
                raise
    return verdicts


def _perform(env, name, case):
    """Returns true if a case passed; prints its line."""
    complaints, note, began = [], None, time.monotonic()
    try:
        note = case(env)
    except Failed as error:
        complaints.append(str(error))
    except Interrupted:
        raise
    except Exception:  # An error of this program leaves evidence, too.
        complaints.append(traceback.format_exc())
    complaints += env.after_case(name, bool(complaints))
    seconds = time.monotonic() - began
    verdict = "FAILED" if complaints else "passed"
    lines = [f"  {verdict} {seconds:6.1f} s  {name}{f': {note}' if note else ''}"]
    # In one piece, because other cases may print at the same time.
    print("\n".join(lines + [textwrap.indent(complaint, "    ") for complaint in complaints]), flush=True)
    return not complaints
