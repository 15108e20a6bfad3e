"""Fixtures that every test may use."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from endpoints import FakeEndpoint

SHARED = Path(__file__).resolve().parents[2] / "shared"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--heavy", action="store_true", help="also run the tests that take minutes")


def pytest_configure(config: pytest.Config) -> None:
    """By default Hypothesis tries the same examples every time; `--heavy` looks for new ones."""
    settings.register_profile("quick", deadline=None, derandomize=True)
    settings.register_profile("heavy", deadline=None)
    settings.load_profile("heavy" if config.getoption("--heavy") else "quick")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--heavy"):
        return
    skip = pytest.mark.skip(reason="takes minutes: run with --heavy")
    for item in items:
        if "heavy" in item.keywords:
            item.add_marker(skip)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real data beside the repository; the test is skipped where there is none."""
    if not (SHARED / "data").is_dir():
        pytest.skip("no real data beside the repository (../shared/data)")
    return SHARED


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeEndpoint:
    """What every endpoint is in this test; the cache of vectors is the test's own."""
    from endpoints import FakeEndpoint
    from holdstill.models import kept

    kept.cache_clear()  # an embedder that has seen its probes does not look again
    monkeypatch.setattr("holdstill.user_cache.folder", lambda: tmp_path / "caches")
    served = FakeEndpoint()
    served.serve(monkeypatch)
    return served
