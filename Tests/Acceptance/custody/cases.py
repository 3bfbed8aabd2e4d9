# SPDX-License-Identifier: Apache-2.0
"""All cases of the suite, by name, in the order in which they run."""
import tpm_format
import tpm_kill
import tpm_story

CASES = {**tpm_story.CASES, **tpm_format.CASES, **tpm_kill.CASES}
