# SPDX-License-Identifier: Apache-2.0
"""All cases in their order: later ones use the keys that `create` and `judged` make."""
import conversations
import disk_programs
import failures
import files
import kills
import life
import linked_cases

# These make what the others need, so that they run with any choice.
FIRST = ("create", "judged")
CASES = (life.CASES | files.CASES | failures.CASES | conversations.CASES | kills.CASES | disk_programs.CASES
         | linked_cases.CASES)
