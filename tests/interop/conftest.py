"""What the tests here share: Apache RocketMQ and our Java programs, where this machine can have them."""

import pytest
from tests.interop.installation import Installation, install, missing_tools


@pytest.fixture(scope="session")
def installation() -> Installation:
    """Fetched and compiled by the first test that asks; without the tools, every test that asks is skipped."""
    if missing := missing_tools():
        pytest.skip(f"needs {', '.join(missing)} on the path, to run Apache RocketMQ")
    return install()
