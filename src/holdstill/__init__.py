"""holdstill: hybrid retrieval that holds still.

Hard constraints are typed predicates on every arm; every answer says whether it is complete, and proves it; the same
query gives the same bits.
"""

from holdstill._version import __version__
from holdstill.audit.findings import Blame, Layer
from holdstill.audit.recorded import RecordedSearch
from holdstill.audit.replay import Difference, Replay
from holdstill.collection import Collection
from holdstill.config import LogSettings
from holdstill.document import Document, Passage
from holdstill.embedding import Embedder
from holdstill.embedding.openai import OpenAIEmbedder
from holdstill.embedding.sentence_transformers import SentenceTransformerEmbedder
from holdstill.errors import (
    AccessDenied,
    AnalyserMismatch,
    BatchRefused,
    CollectionBusy,
    CollectionClosed,
    CollectionExists,
    CollectionNotFound,
    CorruptCollection,
    DuplicateId,
    EmbedderFailed,
    EmbedderRequired,
    EmptyQuery,
    FusedScoreThreshold,
    GenerationNotFound,
    HoldstillError,
    InvalidDocument,
    InvalidInput,
    InvalidPredicate,
    InvalidPrincipal,
    InvalidQuery,
    InvalidSchema,
    InvalidVector,
    InvariantViolated,
    MalformedInput,
    ModelMismatch,
    NewerFormat,
    NotACollection,
    NotFound,
    NotWritable,
    OperatorRequired,
    PredicateSyntax,
    PrincipalRequired,
    SnapshotNotFound,
    SnapshotPruned,
    TypeMismatch,
    UnknownField,
)
from holdstill.importing import import_collection
from holdstill.ingest import read
from holdstill.opening import create, open  # noqa: A004 - as gzip.open
from holdstill.policy import Policy, Principal
from holdstill.predicate import Predicate, f, parse
from holdstill.query import Query, Settings
from holdstill.refused import Refused
from holdstill.reports import (
    AddReport,
    Changed,
    ChangeReport,
    Commit,
    Diff,
    ExportReport,
    GenerationInfo,
    Info,
    PruneReport,
    PurgeReport,
    RebuildReport,
)
from holdstill.result import ArmReport, Completeness, Hit, Result
from holdstill.schema import Field, Schema
from holdstill.stores.base import StoredDocument, StoredPassage
from holdstill.tables import FusedTable, fuse

__all__ = [
    "AccessDenied",
    "AddReport",
    "AnalyserMismatch",
    "ArmReport",
    "BatchRefused",
    "Blame",
    "ChangeReport",
    "Changed",
    "Collection",
    "CollectionBusy",
    "CollectionClosed",
    "CollectionExists",
    "CollectionNotFound",
    "Commit",
    "Completeness",
    "CorruptCollection",
    "Diff",
    "Difference",
    "Document",
    "DuplicateId",
    "Embedder",
    "EmbedderFailed",
    "EmbedderRequired",
    "EmptyQuery",
    "ExportReport",
    "Field",
    "FusedScoreThreshold",
    "FusedTable",
    "GenerationInfo",
    "GenerationNotFound",
    "Hit",
    "HoldstillError",
    "Info",
    "InvalidDocument",
    "InvalidInput",
    "InvalidPredicate",
    "InvalidPrincipal",
    "InvalidQuery",
    "InvalidSchema",
    "InvalidVector",
    "InvariantViolated",
    "Layer",
    "LogSettings",
    "MalformedInput",
    "ModelMismatch",
    "NewerFormat",
    "NotACollection",
    "NotFound",
    "NotWritable",
    "OpenAIEmbedder",
    "OperatorRequired",
    "Passage",
    "Policy",
    "Predicate",
    "PredicateSyntax",
    "Principal",
    "PrincipalRequired",
    "PruneReport",
    "PurgeReport",
    "Query",
    "RebuildReport",
    "RecordedSearch",
    "Refused",
    "Replay",
    "Result",
    "Schema",
    "SentenceTransformerEmbedder",
    "Settings",
    "SnapshotNotFound",
    "SnapshotPruned",
    "StoredDocument",
    "StoredPassage",
    "TypeMismatch",
    "UnknownField",
    "__version__",
    "create",
    "f",
    "fuse",
    "import_collection",
    "open",
    "parse",
    "read",
]
