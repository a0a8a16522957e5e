"""Shares one vault between all tests of a run and resets it before each. Needs only pytest and `vault` on the PATH."""

import json
import subprocess
import urllib.error
import urllib.request
from datetime import datetime, timedelta, timezone

import pytest


@pytest.fixture(scope="session")
def vault(tmp_path_factory):
    ready = tmp_path_factory.mktemp("vault") / "ready.json"
    daemon = subprocess.Popen(
        ["vault", "serve", "--dev", "--port", "0", "--ready-file", str(ready)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    subprocess.run(["vault", "wait", "--ready-file", str(ready)], check=True)
    yield json.loads(ready.read_text())
    daemon.terminate()
    daemon.wait()


@pytest.fixture(autouse=True)
def empty(vault):
    assert call(vault, "POST", "/dev/reset", key="management_key")[0] == 204


def call(vault, method, path, body=None, key="private_key"):
    request = urllib.request.Request(vault["url"] + path, method=method)
    request.add_header("SVC-API-KEY", vault[key])
    if body is not None:
        request.add_header("Content-Type", "application/json")
        request.data = json.dumps(body).encode()
    try:
        with urllib.request.urlopen(request) as response:
            return response.status, json.loads(response.read() or "null")
    except urllib.error.HTTPError as refused:
        return refused.code, json.loads(refused.read())


def test_a_card_comes_back_as_it_went_in(vault):
    card = {"number": "4242424242424242"}
    status, token = call(vault, "POST", "/tokens", {"id": "card-1", "type": "card", "data": card})
    assert (status, token["data"]) == (201, {"number": "XXXXXXXXXXXX4242"})
    assert call(vault, "GET", "/tokens/card-1")[1]["data"] == card


def test_a_token_ends(vault):
    tomorrow = (datetime.now(timezone.utc) + timedelta(days=1)).isoformat()
    call(vault, "POST", "/tokens", {"id": "card-1", "type": "token", "data": 1, "expires_at": tomorrow})
    moved = call(vault, "POST", "/dev/clock", {"advance_ms": 25 * 3_600_000}, key="management_key")
    assert (moved[0], moved[1]["removed"]) == (200, 1)
    assert call(vault, "GET", "/tokens/card-1")[0] == 404


def test_what_calls_the_vault_tries_again(vault):
    fault = {"request": "GET /tokens", "status": 503, "times": 2}
    call(vault, "POST", "/dev/faults", fault, key="management_key")
    assert [call(vault, "GET", "/tokens")[0] for _ in range(3)] == [503, 503, 200]
