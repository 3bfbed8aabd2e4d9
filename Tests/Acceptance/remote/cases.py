# SPDX-License-Identifier: Apache-2.0
"""All cases, one function each. They raise Failed with what was expected and found."""
from browser import BROWSER
from ceremonies import CEREMONIES
from endings import ENDINGS
from latency import latency
from refusals import REFUSALS
from ways import WAYS

CASES = {**CEREMONIES, **ENDINGS, **REFUSALS, **WAYS, **BROWSER}
ALL = {**CASES, "latency": latency}
