"""The nginx of docs/production.md in front of a real server, where nginx is installed: all works below the path."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import httpx
import pytest

from support import patient_http
from support.dashboards.sockets import open_socket, token_of
from support.documentation import ROOT, read_blocks
from support.ports import hold_port
from support.server_process import ServerProcess
from support.timeouts import WAIT_TIMEOUT_S

NGINX = shutil.which("nginx")
PATH = "/attest"
CONFIGURATION = """daemon off; pid {folder}/nginx.pid; error_log stderr; worker_processes 1;
events {{ }}
http {{
    access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
    {example}
}}
"""

pytestmark = pytest.mark.skipif(NGINX is None, reason="no nginx on this machine; apt-get install nginx-light")


def read_example() -> str:
    (block,) = (each for each in read_blocks(ROOT / "docs" / "production.md") if each.language == "nginx")
    return block.text


@contextmanager
def run_nginx(folder: Path, port: int, upstream: str) -> Iterator[None]:
    """Run the documented nginx on a port, without TLS, in front of another server."""
    example = read_example().replace("listen 443 ssl", f"listen 127.0.0.1:{port}").replace("127.0.0.1:8080", upstream)
    configuration = folder / "nginx.conf"
    configuration.write_text(CONFIGURATION.format(folder=folder, example=example))
    process = subprocess.Popen([str(NGINX), "-c", str(configuration), "-p", str(folder)])
    try:
        _wait_for(port, process)
        yield
    finally:
        process.terminate()
        process.wait()


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + WAIT_TIMEOUT_S
    while True:
        try:
            patient_http.get(f"http://127.0.0.1:{port}/")
            return
        except httpx.TransportError:
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.02)


def test_everything_works_below_the_documented_path(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    made = ServerProcess.initialised(tmp_path / "data", f"sqlite:///{tmp_path / 'records.db'}")
    with hold_port() as port:
        root = f"http://127.0.0.1:{port}"
        environment = {"ATTESTLAB_TRUSTED_PROXIES": "127.0.0.1/32", "ATTESTLAB_PORTAL_URL": f"{root}{PATH}"}
        with patch.dict(os.environ, environment), made.start() as server:
            with run_nginx(tmp_path, port, server.url.removeprefix("http://")):
                _walk(server, root)
            server.stop()


def _walk(server: ServerProcess, root: str) -> None:
    with patient_http.open_client(base_url=f"{root}{PATH}") as browser:
        assert browser.get("/openapi.json").json()["servers"][0]["url"] == PATH
        assert browser.get("/dash").headers["Location"] == f"{PATH}/dash/risk"
        fields = {"email": server.made["owner_email"], "password": server.made["owner_password"]}
        signed_in = browser.post("/dash/sign-in", data=fields, headers={"Origin": root})
        assert signed_in.headers["Location"] == f"{PATH}/dash/risk"
        page = browser.get("/dash/risk")
        assert re.search(r'src="static/js/bokeh\S+"', page.text)
        cookie = browser.cookies["attestlab_dash"]
        assert open_socket(f"{root}{PATH}", token_of(page.text), cookie, origin=root) == 101
        metadata = patient_http.get(f"{root}/.well-known/jwt-vc-issuer{PATH}").json()
        assert metadata["issuer"] == f"{root}{PATH}"
