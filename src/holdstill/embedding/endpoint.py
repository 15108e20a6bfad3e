"""An OpenAI-compatible `/v1/embeddings` over HTTP: asked patiently, and believed only when its answer is whole.

No error holds a text or the key, in its message or in what it is chained to.
"""

from __future__ import annotations

import itertools
import os
import re
import time
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from threading import Lock
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from holdstill.errors import EmbedderFailed, InvalidInput

if TYPE_CHECKING:
    import httpx

ATTEMPTS = 5  #: for one request
FIRST_WAIT = 0.25  #: seconds before the second attempt; twice as long before each one after it
LONGEST_WAIT = 60.0  #: seconds; an endpoint that asks for more is not waited for
_AGAIN = frozenset({408, 429, 500, 502, 503, 504})
_CODE = re.compile(r"[a-z][a-z0-9_]{0,63}")

sleep = time.sleep


def checked_url(url: object) -> str:
    """The base of an endpoint, without a slash at its end.

    Raises:
        holdstill.InvalidInput: it is not one, or holds a name or a password; what was given is not shown then.
    """
    if isinstance(url, str):
        try:
            parts = urlsplit(url)
            bare = parts.username is None and not parts.query and not parts.fragment and parts.port != 0
            bare &= url.isascii() and url.isprintable() and " " not in url
        except ValueError:
            bare = False
        if bare and parts.scheme in ("http", "https") and parts.hostname:
            return url.rstrip("/")
    raise InvalidInput(
        "the URL of the endpoint cannot be used",
        field="embedder_url",
        expected="the base of an OpenAI-compatible API, as in 'http://localhost:8000/v1', with no credentials in it",
        hint="A key belongs in an environment variable, OPENAI_API_KEY unless you name another",
    )


@dataclass(frozen=True, slots=True)
class _Fault:
    """Why an attempt gave no answer.

    Attributes:
        reason: in words that say nothing of what was sent.
        again: whether another attempt may do better.
        wait: seconds that the endpoint asked to be left alone for, if it did.
    """

    reason: str
    again: bool
    wait: float | None = None


class Endpoint:
    """Where one model is asked for vectors. Threads may share it.

    Args:
        url: the base of the API: `https://api.openai.com/v1`.
        model: as the endpoint calls it.
        key_variable: the environment variable that holds the key; it is read for each request and kept nowhere.
        dimensions: how long vectors are to be, where the endpoint can choose.
        timeout: seconds for one attempt.
    """

    def __init__(self, url: str, model: str, key_variable: str, dimensions: int | None, timeout: float) -> None:
        self.url = checked_url(url)
        self._model = model
        self._key_variable = key_variable
        self._dimensions = dimensions
        self._timeout = timeout
        self._lock = Lock()
        self._client: httpx.Client | None = None

    def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row a text, in order, from one request.

        Raises:
            holdstill.EmbedderFailed: no answer could be had, or it cannot be used.
        """
        body: dict[str, Any] = {"model": self._model, "input": list(texts), "encoding_format": "float"}
        if self._dimensions is not None:
            body["dimensions"] = self._dimensions
        for attempt in itertools.count(1):
            answer = self._ask(body)
            if not isinstance(answer, _Fault):
                break
            wait = FIRST_WAIT * 2 ** (attempt - 1) if answer.wait is None else answer.wait
            if not answer.again or wait > LONGEST_WAIT or attempt == ATTEMPTS:
                raise self._failed(answer, attempt)
            sleep(wait)
        return read_rows(answer, len(texts), self._dimensions)

    def _ask(self, body: dict[str, Any]) -> object:
        """What the endpoint answers, or the fault; httpx's own errors hold the request, so none leaves here."""
        client, headers = self._connected(), self._headers()
        import httpx

        try:
            response = client.post(f"{self.url}/embeddings", json=body, headers=headers)
        except httpx.TimeoutException:
            return _Fault(f"did not answer within {self._timeout:g} s", again=True)
        except httpx.TransportError as error:
            return _Fault(f"cannot be reached ({type(error).__name__})", again=True)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            return _Fault(f"cannot be asked ({type(error).__name__})", again=False)
        if response.status_code != 200:
            wait = _seconds(response.headers.get("retry-after"))
            return _Fault(_refusal(response), response.status_code in _AGAIN, wait)
        try:
            return response.json()
        except ValueError:
            return _Fault("gave an answer that is not JSON", again=False)

    def _headers(self) -> dict[str, str]:
        key = os.environ.get(self._key_variable, "").strip()
        if not (key.isascii() and key.isprintable()):
            raise EmbedderFailed(
                f"the environment's {self._key_variable} holds no key", field=self._key_variable, expected="plain ASCII"
            )
        return {"Authorization": f"Bearer {key}"} if key else {}

    def _connected(self) -> httpx.Client:
        with self._lock:
            if self._client is None:
                self._client = _client(self._timeout)
                weakref.finalize(self, self._client.close)
            return self._client

    def _failed(self, fault: _Fault, attempts: int) -> EmbedderFailed:
        hint = "See that it runs, and that the URL and the name of the model are right"
        if fault.reason.startswith(("answered 401", "answered 403")):
            held = "another key" if os.environ.get(self._key_variable) else "a key"
            hint = f"Put {held} into the environment variable {self._key_variable}"
        elif fault.wait is not None and fault.wait > LONGEST_WAIT:
            hint = f"It asks to be left alone for {fault.wait:g} s: try again then"
        tried = "" if attempts == 1 else f", {attempts} times"
        return EmbedderFailed(f"the endpoint {self.url} {fault.reason}{tried}", field="embedder", hint=hint)


def _client(timeout: float) -> httpx.Client:
    try:
        import httpx
    except ImportError as error:
        raise EmbedderFailed(
            f"an endpoint cannot be asked: {error}",
            field="embedder",
            hint="Install what asks it: pip install 'holdstill[openai]'",
        ) from error
    return httpx.Client(timeout=timeout)


def _refusal(response: httpx.Response) -> str:
    """The status and, where it is one plain word, the endpoint's code; its message may repeat the text or the key."""
    try:
        code = response.json()["error"]["code"]
    except (ValueError, LookupError, TypeError):
        code = None
    named = f" ({code})" if isinstance(code, str) and _CODE.fullmatch(code) else ""
    return f"answered {response.status_code}{named}"


def _seconds(retry_after: str | None) -> float | None:
    """What a Retry-After header asks: seconds, or a date."""
    if retry_after is None:
        return None
    try:
        return max(0.0, float(int(retry_after)))
    except ValueError:
        pass
    try:
        until = parsedate_to_datetime(retry_after)
    except ValueError:
        return None
    if until.tzinfo is None:
        until = until.replace(tzinfo=UTC)
    return max(0.0, (until - datetime.now(UTC)).total_seconds())


def read_rows(answer: object, count: int, dimensions: int | None) -> NDArray[np.float32]:
    """The vectors of an answer, in the order of the texts.

    Raises:
        holdstill.EmbedderFailed: they are not as many as the texts, not numbered, of several lengths or another one
            than was asked for, or not finite, or zero.
    """
    data = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(data, list) or not all(isinstance(item, dict) for item in data):
        raise _unusable("has no list of vectors")
    if len(data) != count:
        raise _unusable("has another number of vectors than texts were sent", expected=str(count), got=len(data))
    by_index = {item.get("index"): item.get("embedding") for item in data if type(item.get("index")) is int}
    if by_index.keys() != set(range(count)):
        raise _unusable("does not say which vector is of which text")
    try:
        rows = np.array([by_index[index] for index in range(count)])
    except ValueError:  # of several lengths
        rows = np.empty(0)
    if rows.ndim != 2 or rows.dtype.kind not in "fi":
        raise _unusable("has vectors that are not lists of numbers, all of one length")
    if dimensions is not None and rows.shape[1] != dimensions:
        raise _unusable("has vectors of another length", expected=f"{dimensions} dimensions", got=rows.shape[1])
    with np.errstate(over="ignore"):
        narrow = rows.astype(np.float32)
    if not np.isfinite(narrow).all() or not narrow.any(axis=1).all():
        raise _unusable("has a vector that is zero, NaN or infinite")
    return narrow


def _unusable(what: str, *, expected: str | None = None, got: object = None) -> EmbedderFailed:
    return EmbedderFailed(f"the endpoint's answer {what}", field="embedder", expected=expected, got=got)
