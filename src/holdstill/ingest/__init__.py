"""From files to documents: readers, grouping of chunks, and schema inference.

    paths -> files -> (jsonl | tabular | markdown) -> records -> grouping -> Row | Refused
    documents -> infer -> schema, notes;  typed(document, schema) -> document

Reading never stops at a bad row: it is yielded as `Refused`, and the good rows around it are kept.
"""

from holdstill.ingest.cells import Cell, typed
from holdstill.ingest.files import FORMATS
from holdstill.ingest.inference import Inference, infer
from holdstill.ingest.readers import Reading, read
from holdstill.ingest.rows import Keys, Row
from holdstill.refused import Refused

__all__ = ["FORMATS", "Cell", "Inference", "Keys", "Reading", "Refused", "Row", "infer", "read", "typed"]
