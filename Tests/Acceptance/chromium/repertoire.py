# SPDX-License-Identifier: Apache-2.0
"""Names of all ceremonies, in an order that meets their prerequisites."""
from mishaps import MISHAPS
from overlaps import OVERLAPS
from scenarios import SCENARIOS

ALL = {**SCENARIOS, **MISHAPS, **OVERLAPS}
# The ceremonies that every change must pass; about a minute.
DEFAULT = (*SCENARIOS, "drop-request", "relay-dies", "reload")
