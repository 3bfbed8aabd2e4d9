# SPDX-License-Identifier: Apache-2.0
"""Checks that several cases share."""
from harness.waiting import must


def succeeded(program, text=""):
    must(program.status == 0 and text in program.said(),
         f"expected {program.name} to succeed with {text!r}; it {program.ending}: {program.said()}")


def failed(program):
    must(program.status not in (None, 0), f"expected {program.name} to fail; it {program.ending}")
