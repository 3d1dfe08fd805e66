"""A service whose certificate a private authority signed: a view trusts what its lab trusts, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import pytest

import attestlab
from attestlab import Lab
from attestlab.core.errors import Unavailable
from attestlab.orgs.rules import Plan
from attestlab_dashboards.cell.explorer import Explorer
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.safe import NOTHING
from support.certificates import serve_with, write_certificate
from support.path_proxy import PathProxy, Rewriting
from support.server_process import ServerProcess
from support.timeouts import WAIT_TIMEOUT_S


@pytest.fixture
def authority(tmp_path: Path) -> Path:
    return write_certificate(tmp_path / "authority.pem", "authority.invalid")


@pytest.fixture
def secure(running: ServerProcess, authority: Path, tmp_path: Path) -> Iterator[PathProxy]:
    """The running server behind one that ends TLS, as operators set it up."""
    certificate = write_certificate(tmp_path / "server.pem", "localhost", authority=authority)
    proxy = PathProxy(Rewriting(""), urlsplit(running.url).netloc, serve_with(certificate))
    yield proxy
    proxy.close()


def test_a_view_trusts_the_authority_that_its_lab_was_connected_with(
    running: ServerProcess, secure: PathProxy, authority: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installation = running.open_lab()
    key = installation.orgs.create_tenant("Private", plan=Plan.ENTERPRISE).api_key
    installation.close()
    monkeypatch.setenv("SSL_CERT_FILE", str(authority))
    with attestlab.connect(secure.url, key) as lab:
        monkeypatch.delenv("SSL_CERT_FILE")
        view = cast(Explorer, lab.explore("risk"))
        assert view.rows("who").df().empty
        assert load(view, lambda lab: lab.me().tenant_name) == "Private"


def test_an_authority_that_is_not_trusted_is_named_with_the_remedy(
    secure: PathProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    with pytest.raises(Unavailable, match="SSL_CERT_FILE") as caught:
        attestlab.connect(secure.url, sleep=lambda _: None)
    assert "\n" not in caught.value.message


def load(view: Explorer, ask: Any) -> object:
    """Load a pane of a view, whose requests the loop of the views sends."""
    pane = Pane[Lab, Any](key="asks", load=lambda lab, _: ask(lab), draw=lambda _data, _state: NOTHING, reads=())
    return view._cell.begin_load(pane, view.state).result(WAIT_TIMEOUT_S)
