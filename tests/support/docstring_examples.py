"""The world of the docstring examples, a plugin of pytest for `make check`: one demo lab for all of them.

An example finds `lab`, an open `attestlab.demo()`; where it names `sofia`, the same lab for a consumer; in its working
folder an installation `lab`; and, where it names `url`, a server on that installation with its `api_key`. Examples
share the lab, so each changes only what is its own.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from support.demo_caches import use_demo_caches

Names = dict[str, object]


@pytest.fixture(autouse=True)
def named_in_examples(request: pytest.FixtureRequest) -> None:
    """Give an example the names that it mentions."""
    if not isinstance(request.node, pytest.DoctestItem) or request.node.dtest is None:
        return
    source = "".join(each.source for each in request.node.dtest.examples)
    names: Names = request.getfixturevalue("doctest_namespace")
    if "lab" in source:
        names["lab"] = request.getfixturevalue("demo_lab")
    if "sofia." in source or '"sofia"' in source:
        names["sofia"] = request.getfixturevalue("sofia_lab")
    if "url" in source or '"lab"' in source:
        names.update(request.getfixturevalue("served_lab"))


@pytest.fixture(scope="session")
def example_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The working folder of the examples."""
    folder, before = tmp_path_factory.mktemp("examples"), Path.cwd()
    os.chdir(folder)
    yield folder
    os.chdir(before)


@pytest.fixture(scope="session")
def demo_lab(example_folder: Path) -> Iterator[object]:
    """The demo that the examples share."""
    import attestlab

    with use_demo_caches(), attestlab.demo() as lab:
        lab.billing.attach("webhook_pack")  # so that there is an invoice
        lab.receipt_types.create("stocktaking", "1.0.0", {})
        lab.receipts.mint("stocktaking", {}, issuer="Canton Archive")  # so that there is a receipt
        keeper = lab.agents.register("Keeper", scopes=["docs:*"])
        keeper.delegate({"display_name": "Visitor"}, ["docs:read"])
        keeper.session()
        yield lab


@pytest.fixture(scope="session")
def sofia_lab(demo_lab: Any) -> object:
    """The lab of a consumer with the username `sofia`, who signed in."""
    from attestlab.orgs.rules import Plan
    from support.orgs import PASSWORD

    installation = demo_lab._door.installation
    made = installation.orgs.add_consumer("sofia@examples.example", PASSWORD, name="Sofia Kovalevskaya")
    installation.orgs.set_plan(made.tenant_id, Plan.ENTERPRISE, {})  # so that no limit counts the examples
    sofia = demo_lab.as_("sofia@examples.example", password=PASSWORD)
    sofia._client.put("/v1/consumer/me/username", {"username": "sofia"})
    return sofia


@pytest.fixture(scope="session")
def served_lab(example_folder: Path) -> Iterator[Names]:
    """The address of a server on the installation `lab`, and an API key."""
    with _serve(example_folder / "lab") as names:
        yield names


@contextmanager
def _serve(folder: Path) -> Iterator[Names]:
    from attestlab.installation import Installation
    from attestlab.settings import Settings
    from support.in_process_server import serve_in_thread

    installation, made = Installation.init(Settings(data=folder, database_url=None))
    try:
        with serve_in_thread(installation) as url:
            yield {"url": url, "api_key": made.public()["api_key"]}
    finally:
        installation.close()
