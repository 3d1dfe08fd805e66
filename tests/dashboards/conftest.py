"""The demo's cache for tests of the dashboards: a run builds each world once, and leaves the user's cache alone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.dashboards.demo_server import find_shared_folder


@pytest.fixture(scope="session")
def caches(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The folder of the demo's cache, which the test processes of a run share."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(find_shared_folder(tmp_path_factory.getbasetemp()) / "caches"))
        yield
