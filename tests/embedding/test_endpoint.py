"""An endpoint is asked patiently, believed only when its answer is whole, and told nothing it need not know."""

from __future__ import annotations

import math
import traceback
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import httpx
import numpy as np
import pytest

import fakes
from endpoints import URL, FakeEndpoint
from holdstill.embedding.endpoint import ATTEMPTS, Endpoint, checked_url, read_rows
from holdstill.errors import EmbedderFailed, InvalidInput

KEY = "sk-not-for-anyones-eyes"
TEXT = "a text that is nobody's business"


def endpoint_of(**changed: Any) -> Endpoint:
    return Endpoint(
        **{"url": URL, "model": "m", "key_variable": "OPENAI_API_KEY", "dimensions": None, "timeout": 1.0} | changed
    )


def status(code: int, **headers: str) -> Callable[[httpx.Request], httpx.Response]:
    return lambda request: httpx.Response(code, headers={"retry-after": headers["after"]} if headers else None)


def test_vectors_come_in_the_order_of_the_texts(fake: FakeEndpoint) -> None:
    rows = endpoint_of().vectors(["b", "a", "c"])
    assert rows.dtype == np.float32
    assert np.array_equal(rows, np.array([fakes.vector(text) for text in "bac"], dtype=np.float32))
    assert fake.bodies == [{"model": "m", "input": ["b", "a", "c"], "encoding_format": "float"}]
    assert str(fake.requests[0].url) == f"{URL}/embeddings"


def test_the_number_of_dimensions_is_asked_for_and_checked(fake: FakeEndpoint) -> None:
    assert endpoint_of(dimensions=16).vectors(["a"]).shape == (1, 16)
    assert fake.bodies[0]["dimensions"] == 16
    with pytest.raises(EmbedderFailed, match="vectors of another length; expected 8 dimensions; got 16"):
        endpoint_of(dimensions=8).vectors(["a"])


def test_what_may_pass_is_asked_again_with_longer_waits(fake: FakeEndpoint) -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("no route", request=request)

    fake.first = [status(503), refuse, status(429), status(500)]
    assert endpoint_of().vectors(["a"]).shape == (1, 16)
    assert fake.waits == [0.25, 0.5, 1.0, 2.0]


def test_an_endpoint_that_never_answers_is_given_up(fake: FakeEndpoint) -> None:
    def late(request: httpx.Request) -> httpx.Response:
        raise httpx.ReadTimeout("late", request=request)

    fake.first = [late] * 9
    with pytest.raises(EmbedderFailed, match=rf"{URL} did not answer within 1 s, {ATTEMPTS} times"):
        endpoint_of().vectors([TEXT])
    assert len(fake.requests) == ATTEMPTS


@pytest.mark.parametrize("code", [301, 400, 401, 403, 404, 422])
def test_what_will_not_pass_is_not_asked_again(fake: FakeEndpoint, code: int) -> None:
    fake.first = [status(code)]
    with pytest.raises(EmbedderFailed, match=f"answered {code}"):
        endpoint_of().vectors(["a"])
    assert len(fake.requests) == 1
    assert fake.waits == []


def test_the_wait_that_is_asked_for_is_kept(fake: FakeEndpoint) -> None:
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    fake.first = [status(429, after="7"), status(429, after=soon), status(503, after="nonsense")]
    endpoint_of().vectors(["a"])
    assert fake.waits[0] == 7
    assert 0 < fake.waits[1] <= 30
    assert fake.waits[2] == 1.0


def test_nobody_waits_for_an_hour(fake: FakeEndpoint) -> None:
    fake.first = [status(429, after="3600")]
    with pytest.raises(EmbedderFailed, match="asks to be left alone for 3600 s"):
        endpoint_of().vectors(["a"])
    assert fake.waits == []


def test_the_key_comes_from_the_environment_of_the_moment(fake: FakeEndpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = endpoint_of(key_variable="MY_KEY")
    monkeypatch.delenv("MY_KEY", raising=False)
    asked.vectors(["a"])
    monkeypatch.setenv("MY_KEY", f" {KEY}\n")
    asked.vectors(["a"])
    assert [request.headers.get("authorization") for request in fake.requests] == [None, f"Bearer {KEY}"]


def _leaky(request: httpx.Request) -> httpx.Response:
    """Refuses as some endpoints do, with the key and the text in the answer."""
    error = {"message": f"bad key {KEY} for {TEXT}", "type": KEY, "code": KEY}
    return httpx.Response(401, json={"error": error})


def _unreachable(request: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError(f"{KEY} {TEXT}", request=request)


def _misnamed(request: httpx.Request) -> httpx.Response:
    raise httpx.InvalidURL(f"{KEY} {TEXT}")


def _broken(request: httpx.Request) -> httpx.Response:
    return httpx.Response(200, text=f"<p>{KEY} {TEXT}</p>")


def _short(request: httpx.Request) -> httpx.Response:
    return httpx.Response(200, json={"data": [], "note": f"{KEY} {TEXT}"})


@pytest.mark.parametrize("fault", [_leaky, _unreachable, _misnamed, _broken, _short])
def test_neither_the_key_nor_a_text_is_in_any_error(
    fake: FakeEndpoint,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    fault: Callable[[httpx.Request], httpx.Response],
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    caplog.set_level("DEBUG")
    fake.first = [fault] * ATTEMPTS
    asked = endpoint_of()
    with pytest.raises(EmbedderFailed) as caught:
        asked.vectors([TEXT])
    error: BaseException | None = caught.value
    while error is not None:
        shown = "".join(traceback.format_exception_only(error)) + repr(vars(error))
        assert KEY not in shown
        assert TEXT not in shown
        assert not isinstance(error, httpx.HTTPError)
        error = error.__cause__ or error.__context__
    for said in (caplog.text, repr(asked), str(vars(asked))):
        assert KEY not in said
        assert TEXT not in said


def test_the_code_of_a_refusal_is_shown(fake: FakeEndpoint) -> None:
    fake.first = [lambda _: httpx.Response(404, json={"error": {"code": "model_not_found"}})]
    with pytest.raises(EmbedderFailed, match=r"answered 404 \(model_not_found\)\. See that it runs"):
        endpoint_of().vectors(["a"])


@pytest.mark.parametrize("key", ["schlüssel", "two\nlines"])
def test_a_key_that_cannot_be_sent_is_not_shown(fake: FakeEndpoint, monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(EmbedderFailed, match="OPENAI_API_KEY holds no key") as caught:
        endpoint_of().vectors(["a"])
    assert key not in str(caught.value)
    assert fake.requests == []


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        ([], "no list of vectors"),
        ({"data": None}, "no list of vectors"),
        ({"data": [1, 2]}, "no list of vectors"),
        ({"data": [{"index": 0, "embedding": [1.0]}]}, "another number of vectors"),
        ({"data": [{"index": 0, "embedding": [1.0]}] * 2}, "which vector is of which text"),
        ({"data": [{"embedding": [1.0]}, {"embedding": [2.0]}]}, "which vector is of which text"),
        ({"data": [{"index": False, "embedding": [1.0]}, {"index": 1, "embedding": [1.0]}]}, "which vector is of"),
        ({"data": [{"index": 0, "embedding": "AAAA"}, {"index": 1, "embedding": "AAAA"}]}, "not lists of numbers"),
        ({"data": [{"index": 0, "embedding": ["1"]}, {"index": 1, "embedding": [1.0]}]}, "not lists of numbers"),
        ({"data": [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [1.0, 2.0]}]}, "all of one length"),
        ({"data": [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": None}]}, "not lists of numbers"),
        ({"data": [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [0.0]}]}, "zero, NaN or infinite"),
        ({"data": [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [math.nan]}]}, "zero, NaN or infinite"),
        ({"data": [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [1e300]}]}, "zero, NaN or infinite"),
    ],
)
def test_an_answer_that_is_not_whole_is_refused(answer: object, fault: str) -> None:
    with pytest.raises(EmbedderFailed, match=fault):
        read_rows(answer, 2, None)


@pytest.mark.parametrize(
    "url",
    [
        "localhost:8000/v1",
        "ftp://host/v1",
        "http://",
        "http://host:port/v1",
        f"http://user:{KEY}@host/v1",
        f"https://host/v1?key={KEY}",
        "http://host/v1#part",
        "http://ho st/v1",
        None,
    ],
)
def test_a_url_that_cannot_be_asked_or_holds_a_secret_is_refused(url: object) -> None:
    with pytest.raises(InvalidInput, match="the URL of the endpoint cannot be used") as caught:
        checked_url(url)
    assert KEY not in str(caught.value)


def test_a_slash_at_the_end_means_nothing() -> None:
    assert checked_url("http://host:80/v1/") == checked_url("http://host:80/v1") == "http://host:80/v1"


def test_without_httpx_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "httpx", None)
    with pytest.raises(EmbedderFailed, match=r"pip install 'holdstill\[openai\]'"):
        endpoint_of().vectors(["a"])
