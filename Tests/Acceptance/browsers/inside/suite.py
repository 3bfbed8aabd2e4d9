# SPDX-License-Identifier: Apache-2.0
"""Runs the cases with one browser, as the user at the computer: suite.py BROWSER CASES RUNS RESPONSES PROGRAMS"""
import sys
from pathlib import Path
from types import SimpleNamespace

sys.path.append(str(Path(__file__).parents[2]))

from cases import CASES
from browser_environment import BrowserEnvironment
from harness.suite import run_suite


def named(name, case):
    """Returns a case that has a hybrid-key of its own."""
    def run(env):
        env.case = name
        env.new_key()
        return case(env)

    return run


def perform(environment, kind, names, runs, responses, folder, keep=False):
    """Runs cases with a browser in an environment of a kind; returns the exit status."""
    programs = SimpleNamespace(**{name: Path(folder) / f"hybrid-{name}" for name in ("relay", "auth", "key", "lab")})
    chosen = CASES if names == "all" else {name: CASES[name] for name in names.split(",")}
    return run_suite(f"browsers-{kind}", {name: named(name, case) for name, case in chosen.items()},
                     lambda *run: environment(kind, runs, responses, programs, *run), keep=keep)


def main(kind, names, runs, responses, folder):
    return perform(BrowserEnvironment, kind, names, int(runs), responses, folder)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
