"""A model behind an OpenAI-compatible endpoint: known by the vectors that it gave for a few fixed texts.

What runs there cannot be seen. So the fixed texts are embedded when a collection is made, and again when it is opened:
if their vectors have moved, it is another model under the same name.
"""

from __future__ import annotations

import base64
import hashlib
import json
import unicodedata
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdstill.arguments import as_flag
from holdstill.canonical import canonical_json
from holdstill.embedding import cache
from holdstill.embedding.base import (
    MAX_DIMENSIONS,
    MIN_WINDOW,
    Embedder,
    NamedEmbedder,
    checked_prefix,
    other_model_hint,
    require_window,
)
from holdstill.embedding.endpoint import Endpoint
from holdstill.errors import InvalidInput, ModelMismatch
from holdstill.text import clean

KIND = "openai"
URL = "https://api.openai.com/v1"
WINDOW = 512  #: what most models read that run on a machine of one's own
_WINDOWS = {"text-embedding-3-small": 8191, "text-embedding-3-large": 8191, "text-embedding-ada-002": 8191}
_OWN_TOKENS = 8  # what a model, and an endpoint that prefixes texts itself, may put around a text

#: Several scripts, since two vocabularies may agree on all that is Latin; short, long, and identifiers.
PROBES = (
    "Where is the invoice? v2.14.1 fixes CVE-2024-3094.",
    "Größe, naïve, İstanbul; 東京の天気; Москва не сразу строилась; كيف حالك اليوم؟; ภาษาไทย",
    " ".join(f"Line {number} of the ledger is neither paid nor disputed." for number in range(1, 6)),
)
#: How far, as 1 - cosine, a probe may move and be of the same weights. Arithmetic in float16 moves it by 1e-5 at most,
#: in bfloat16 by 6e-4 (24 layers of random weights, against float32); another vocabulary or training moves one by more.
TOLERANCE = 1e-3
_IN_FLIGHT = 4  # requests at once

Rows = NDArray[np.float32]


class OpenAIEmbedder(NamedEmbedder):
    """A model behind an OpenAI-compatible endpoint as an `Embedder`. Threads may share it.

    Args:
        model: as the endpoint calls it.
        url: the base of the API.
        key_variable: the environment variable that holds the key, if the endpoint wants one.
        window: the longest text that the model reads, in tokens, 16 or more; if None, 8,191 for OpenAI's own models and
            512 for every other. Tokens are counted too high, as bytes, since the tokenizer is out of reach.
        dimensions: how long vectors are to be, 1 to 4,096, where the endpoint can choose.
        query_prefix: put before every question, as in `"query: "`.
        passage_prefix: put before every passage, as in `"passage: "`.
        batch: how many texts one request may hold, 1 to 2,048. It is 1, whatever is said, where a text's vector turns
            out to depend on its neighbours.
        timeout: seconds without a sign of the endpoint that end an attempt, above 0; five are made.
        cache: whether vectors are kept in the user's cache, so that no text is sent twice.
    """

    #: What `settings` holds: the arguments, the vectors of the probes, and the URL where they were made.
    SETTINGS = (
        *("url", "key_variable", "window", "dimensions", "query_prefix", "passage_prefix", "batch", "timeout", "cache"),
        *("probes", "made_at"),
    )

    def __init__(
        self,
        model: str,
        *,
        url: str = URL,
        key_variable: str = "OPENAI_API_KEY",
        window: int | None = None,
        dimensions: int | None = None,
        query_prefix: str = "",
        passage_prefix: str = "",
        batch: int = 1,
        timeout: float = 60.0,
        cache: bool = True,
    ) -> None:
        self.model = _text("model", model)
        self.query_prefix = checked_prefix("query_prefix", query_prefix)
        self.passage_prefix = checked_prefix("passage_prefix", passage_prefix)
        self.window = _WINDOWS.get(model, WINDOW) if window is None else _whole("window", window, MIN_WINDOW, 2**31)
        self._dimensions = None if dimensions is None else _whole("dimensions", dimensions, 1, MAX_DIMENSIONS)
        self._batch = _whole("batch", batch, 1, 2048)
        self._key_variable = _text("key_variable", key_variable)
        if isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or not 0 < timeout <= 86_400:
            raise InvalidInput(
                "timeout cannot be used", field="timeout", expected="a number of seconds, above 0", got=timeout
            )
        self._timeout = float(timeout)
        self._cache = as_flag("cache", cache)
        self._endpoint = Endpoint(url, self.model, self._key_variable, self._dimensions, self._timeout)
        self._lock = RLock()
        self._probes: Rows | None = None
        self._made_at = self._endpoint.url  # where the probes were made
        self._believed = False  # whether the endpoint gives the probes that are held
        self._recalled: dict[str, OpenAIEmbedder] = {}

    def __repr__(self) -> str:
        return f"OpenAIEmbedder({self.model!r}, url={self._endpoint.url!r})"

    @property
    def name(self) -> str:
        """`openai:` and the model's name."""
        return f"{KIND}:{self.model}"

    @property
    def dimensions(self) -> int:
        """The length of its vectors.

        Raises:
            holdstill.EmbedderFailed: the endpoint gives no vectors.
        """
        return int(self._known().shape[1])

    @property
    def digest(self) -> str:
        """SHA-256 over the model's name, the URL, the dimensions, the prefixes, and the vectors of the probes.

        Raises:
            holdstill.EmbedderFailed: the endpoint gives no vectors.
        """
        parts = {
            "name": self.name,
            "url": self._made_at,
            "dimensions": self.dimensions,
            "query_prefix": self.query_prefix,
            "passage_prefix": self.passage_prefix,
            "probes": hashlib.sha256(_bytes(self._known())).hexdigest(),
        }
        return "sha256:" + hashlib.sha256(canonical_json(parts).encode()).hexdigest()

    @property
    def settings(self) -> str:
        """How it is made again, and the vectors of the probes, as canonical JSON. The key is not among them.

        Raises:
            holdstill.EmbedderFailed: the endpoint gives no vectors.
        """
        probes = [base64.b64encode(_bytes(row)).decode() for row in self._known()]
        return canonical_json(self._arguments() | {"probes": probes, "made_at": self._made_at})

    @property
    def runtime(self) -> str:
        """The URL."""
        return self._made_at

    @classmethod
    def remade(cls, model: str, settings: dict[str, Any]) -> Embedder:
        """The embedder of these settings, which may lack the probes."""
        arguments = {name: value for name, value in settings.items() if name not in ("probes", "made_at")}
        made = cls(model, **arguments)
        return made.recalled(canonical_json(settings)) if "probes" in settings else made

    def recalled(self, settings: str) -> Embedder:
        """The embedder to use with rows of these settings, which takes over their probes.

        Before it embeds anything, the endpoint has to give them again. It may have moved: where it is, how many texts
        it takes at once and where the key is are this embedder's own. With other prefixes, or vectors of another
        length, it is another model, and this embedder comes back as it is.
        """
        theirs = json.loads(settings)
        mine = self._arguments()
        if any(theirs.get(part) != mine[part] for part in ("dimensions", "query_prefix", "passage_prefix")):
            return self
        with self._lock:
            if self._probes is not None and settings == self.settings:
                return self
            if settings not in self._recalled:
                other = OpenAIEmbedder(self.model, **mine)
                other._probes = np.array(
                    [np.frombuffer(base64.b64decode(probe), dtype="<f4") for probe in theirs["probes"]]
                )
                other._made_at = theirs["made_at"]
                other._batch = min(self._batch, theirs["batch"])
                self._recalled[settings] = other
            return self._recalled[settings]

    def renewed(self) -> Embedder:
        """An embedder that asks for the probes again."""
        return OpenAIEmbedder(self.model, **self._arguments())

    def uncached(self) -> Embedder:
        """The same embedder without the cache."""
        if not self._cache:
            return self
        other = OpenAIEmbedder(self.model, **self._arguments() | {"cache": False})
        other._probes, other._made_at, other._batch = self._known(), self._made_at, self._batch
        return other

    def count_tokens(self, text: str) -> int:
        """No fewer than the tokens of the text: its bytes in UTF-8, however it is normalised, and eight more."""
        plain = clean(text)
        return max(len(plain.encode()), len(unicodedata.normalize("NFKD", plain).encode())) + _OWN_TOKENS

    def embed(self, texts: Sequence[str]) -> Rows:
        """One row a text, `(len(texts), dimensions)`. The texts are embedded as they are, without any prefix.

        Raises:
            holdstill.InvalidInput: a text is longer than the window.
            holdstill.EmbedderFailed: the endpoint cannot be reached, refuses, or gives what cannot be used.
            holdstill.ModelMismatch: the endpoint runs another model than when the collection was made.
        """
        require_window(self, map(self.count_tokens, texts))
        self._require_same()
        sent = {hashlib.sha256(text.encode()).digest(): text for text in map(clean, texts)}
        rows = cache.recall(self.digest, list(sent)) if self._cache else {}
        missing = [source for source in sent if source not in rows or len(rows[source]) != self.dimensions]
        if missing:
            new = dict(zip(missing, self._asked([sent[source] for source in missing], self._batch), strict=True))
            if self._cache:
                cache.keep(self.digest, new)
            rows |= new
        sources = [hashlib.sha256(clean(text).encode()).digest() for text in texts]
        return np.array([rows[source] for source in sources], dtype=np.float32).reshape(len(texts), self.dimensions)

    def _asked(self, texts: Sequence[str], batch: int) -> Rows:
        """The vectors of the texts, so many to a request, with a few requests under way at once."""
        groups = [texts[begin : begin + batch] for begin in range(0, len(texts), batch)]
        with ThreadPoolExecutor(min(_IN_FLIGHT, len(groups))) as pool:
            parts = list(pool.map(self._endpoint.vectors, groups))
        return np.concatenate(parts)

    def _known(self) -> Rows:
        """The vectors of the probes, which are asked for once; they also show whether texts may share a request."""
        with self._lock:
            if self._probes is None:
                alone = self._asked(PROBES, 1)
                if self._batch > 1 and not np.array_equal(alone, self._endpoint.vectors(PROBES)):
                    self._batch = 1
                self._probes, self._believed = alone, True
            return self._probes

    def _require_same(self) -> None:
        with self._lock:
            known = self._known()
            if self._believed:
                return
            now = self._asked(PROBES, 1)
            moved = 1.0 if now.shape != known.shape else float(1 - _cosines(now, known).min())
            if moved > TOLERANCE:
                raise ModelMismatch(
                    f"the endpoint {self._endpoint.url} runs another model under the name {self.model!r} than made the "
                    "collection's vectors: fixed texts have other vectors now",
                    field="embedder",
                    expected=f"vectors that moved by at most {TOLERANCE:g} (1 - cosine)",
                    got=round(moved, 6),
                    hint=other_model_hint(self.name),
                )
            self._believed = True

    def _arguments(self) -> dict[str, Any]:
        return {
            "url": self._endpoint.url,
            "key_variable": self._key_variable,
            "window": self.window,
            "dimensions": self._dimensions,
            "query_prefix": self.query_prefix,
            "passage_prefix": self.passage_prefix,
            "batch": self._batch,
            "timeout": self._timeout,
            "cache": self._cache,
        }


def _cosines(first: Rows, second: Rows) -> NDArray[np.float64]:
    a, b = first.astype(np.float64), second.astype(np.float64)
    cosines: NDArray[np.float64] = (a * b).sum(axis=1) / np.sqrt((a * a).sum(axis=1) * (b * b).sum(axis=1))
    return cosines


def _bytes(rows: Rows) -> bytes:
    return rows.astype("<f4").tobytes()


def _text(field: str, value: object) -> str:
    if isinstance(value, str) and value.strip() and clean(value) == value:
        return value
    raise InvalidInput(f"{field} cannot be used", field=field, expected="a text that is not blank", got=value)


def _whole(field: str, value: object, least: int, most: int) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
        return value
    raise InvalidInput(
        f"{field} cannot be used", field=field, expected=f"a whole number from {least} to {most}", got=value
    )
