# SPDX-License-Identifier: Apache-2.0
"""The site that is tested; yours is started in its own way."""
import pytest
import shop


@pytest.fixture
def site():
    server = shop.serve()
    yield server.shop.origin
    server.shutdown()
