# SPDX-License-Identifier: Apache-2.0
"""A page at http://localhost:PORT. Browsers treat localhost as a secure context, so it needs no certificate."""
from harness.page_server import PageServer


class Website(PageServer):
    """The server of one page, which is a file."""

    def __init__(self, page):
        super().__init__(page)
        self.origin = f"http://localhost:{self.port}"
