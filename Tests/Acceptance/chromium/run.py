# SPDX-License-Identifier: Apache-2.0
"""One complete run: a new environment, the ceremonies in order, and the cleanup."""
import textwrap
import traceback
from dataclasses import asdict, dataclass, field

from ceremony import Ceremony
from environment import ChromiumEnvironment
from harness.folders import RunFolder
from harness.waiting import Failed, Interrupted
from overlaps import Overlap
from selection import ALL
from verdict import Verdict


@dataclass
class Run:
    """Measurements of a run, in seconds by name, and the errors found."""
    times: dict = field(default_factory=dict)
    complaints: list = field(default_factory=list)
    interrupted: Interrupted | None = None

    @property
    def passed(self):
        return not self.complaints and not self.interrupted


def perform(root, programs, names, signals, keep, say):
    """Performs the ceremonies `names` in a new environment, in the folder `root`, which is kept after an error."""
    run, folder = Run(), RunFolder(root)
    env = ChromiumEnvironment(programs, folder, signals)
    where = "environment's start"
    try:
        with env:
            run.times["Chromium's start"] = env.seconds_to_browser
            say(f"  {env.browser.version}, ready after {env.seconds_to_browser:.2f} s")
            for number, name in enumerate(names, 1):
                where = name
                _perform(f"{number}-{name}", name, env, run, say)
                if run.complaints:
                    env.picture_of_failure()
                    break
    except Failed as error:
        run.complaints.append(f"{where}: {error}")
    except Interrupted as error:
        run.interrupted = error
        run.complaints.append(f"{where}: {error}")
    except Exception:  # An error of this program leaves evidence, too.
        run.complaints.append(f"{where}: {traceback.format_exc()}")
    finally:
        run.complaints += [f"at the end: {complaint}" for complaint in env.complaints]
        folder.remove_sockets()
    _leave(folder, run, keep, say)
    return run


def _perform(label, name, env, run, say):
    scenario = ALL[name]
    if isinstance(scenario, Overlap):
        _perform_two(label, name, env, run, say)
        return
    outcome = Ceremony(label, scenario, env).perform()
    verdict = Verdict(scenario, outcome, env.site)
    env.journal.note(f"{label}: judged", complaints=verdict.complaints, outcome=asdict(outcome))
    run.complaints += [f"{name}: {complaint}" for complaint in verdict.complaints]
    run.times[f"{name}: request to QR"] = outcome.seconds_to_code
    run.times[f"{name}: QR to result"] = outcome.seconds_to_result
    say(f"  {'FAILED' if verdict.complaints else 'passed'}  {name:20}  QR after {outcome.seconds_to_code:.2f} s, "
        f"result after {outcome.seconds_to_result:.2f} s; {in_words(outcome)}")


def _perform_two(label, name, env, run, say):
    first, second, complaints = ALL[name].run(label, env)
    env.journal.note(f"{label}: judged", complaints=complaints, first=asdict(first), second=asdict(second))
    run.complaints += [f"{name}: {complaint}" for complaint in complaints]
    run.times[f"{name}: QR to second result"] = second.seconds_to_result
    second.steps = first.steps
    say(f"  {'FAILED' if complaints else 'passed'}  {name:20}  QR after {first.seconds_to_code:.2f} and "
        f"{second.seconds_to_code:.2f} s, result after {first.seconds_to_result:.2f} and "
        f"{second.seconds_to_result:.2f} s; {in_words(second)}")


def in_words(outcome):
    """Returns the dialog's states and the page's result, for the table."""
    steps = " ".join(step.removeprefix("k").removeprefix("CableV2") for step in outcome.steps)
    return f"{steps}; {outcome.page.get('error', outcome.page['event'])}; phone {outcome.phone_status}"


def _leave(folder, run, keep, say):
    """Prints the errors and keeps the evidence, or removes the folder."""
    for complaint in run.complaints:
        say(textwrap.indent(complaint, "  "))
    if run.complaints:
        folder.path("failure.txt").write_text("\n".join(run.complaints) + "\n", encoding="utf-8")
    if not keep:
        folder.remove_scratch()
    if run.passed and not keep:
        folder.remove()
    else:
        say(f"  {'kept' if run.passed else 'evidence'}: {folder.root}")
