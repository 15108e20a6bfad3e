"""A stand-in for an OpenAI-compatible endpoint: it answers in this process, and keeps what it was sent."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from typing import Any

import httpx
import numpy as np
import pytest

import fakes
from holdstill.embedding import endpoint

URL = "http://embedder.test/v1"


class FakeEndpoint:
    """Gives each text the vector of `fakes.vector`; attributes make it misbehave."""

    def __init__(self) -> None:
        self.requests: list[httpx.Request] = []
        self.waits: list[float] = []  #: seconds that were waited before asking again
        self.seed = ""  #: stands for the weights
        self.noise = 0.0  #: how far a vector's first component moves each time, as a share of it
        self.moved_by_neighbours = False
        self.dimensions = 16
        self.first: list[Callable[[httpx.Request], httpx.Response]] = []  #: what the first requests get instead

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [json.loads(request.content) for request in self.requests]

    @property
    def texts(self) -> list[str]:
        return [text for body in self.bodies for text in body["input"]]

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        if self.first:
            return self.first.pop(0)(request)
        texts = json.loads(request.content)["input"]
        rows = [fakes.vector(self.seed + text, self.dimensions) for text in texts]
        if self.noise:
            rows = [row * (1 + self.noise * len(self.requests) * (np.arange(len(row)) == 0)) for row in rows]
        if self.moved_by_neighbours:
            rows = [row + zlib.crc32("".join(texts).encode()) % 1000 for row in rows]
        data = [{"index": index, "embedding": row.tolist()} for index, row in enumerate(rows)]
        return httpx.Response(200, json={"data": data[::-1]})  # the order is not promised

    def serve(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Be every endpoint there is, and let nobody wait."""
        client = httpx.Client
        transport = httpx.MockTransport(self)
        monkeypatch.setattr(endpoint, "_client", lambda timeout: client(transport=transport, timeout=timeout))
        monkeypatch.setattr(endpoint, "sleep", self.waits.append)
