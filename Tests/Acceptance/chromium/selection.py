# SPDX-License-Identifier: Apache-2.0
"""Names of all ceremonies, in an order that meets their prerequisites."""
from failures import FAILURES
from overlaps import OVERLAPS
from scenarios import SCENARIOS

ALL = {**SCENARIOS, **FAILURES, **OVERLAPS}
# The ceremonies that every change must pass; about a minute.
DEFAULT = (*SCENARIOS, "drop-request", "relay-dies", "reload")
