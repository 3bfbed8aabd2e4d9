# SPDX-License-Identifier: Apache-2.0
"""All ceremonies by name, in an order in which each finds what it needs."""
from mishaps import MISHAPS
from overlaps import OVERLAPS
from scenarios import SCENARIOS

ALL = {**SCENARIOS, **MISHAPS, **OVERLAPS}
# About a minute: what every change must pass.
DEFAULT = (*SCENARIOS, "drop-request", "relay-dies", "reload")
