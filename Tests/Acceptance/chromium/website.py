# SPDX-License-Identifier: Apache-2.0
"""The page at http://localhost:PORT. Browsers treat localhost as a secure context, so it needs no certificate."""
from pathlib import Path

from harness.page_server import PageServer


class Website(PageServer):
    def __init__(self):
        super().__init__(Path(__file__).with_name("page.html"))
        self.origin = f"http://localhost:{self.port}"
