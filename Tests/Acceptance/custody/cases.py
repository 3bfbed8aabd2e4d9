# SPDX-License-Identifier: Apache-2.0
"""All cases of the suite, by name, in the order in which they run, for each part."""
import finger_cases
import tpm_format
import tpm_kill
import tpm_story

PARTS = {"tpm": {**tpm_story.CASES, **tpm_format.CASES}, "kill": tpm_kill.CASES, "finger": finger_cases.CASES}
