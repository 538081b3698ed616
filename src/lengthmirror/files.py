"""Files that are replaced atomically and whose bytes depend on their content alone."""

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq


def write_bytes(path: Path, content: bytes) -> None:
    """Replaces a file in one step: a reader or a killed run never meets half of it."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def json_bytes(value: Any) -> bytes:
    """Strict JSON (no NaN), sorted keys, one newline at the end."""
    text = json.dumps(value, sort_keys=True, indent=1, allow_nan=False, ensure_ascii=False)
    return (text + "\n").encode("utf-8")


def write_table(path: Path, table: pa.Table) -> None:
    """Writes parquet with fixed settings and no metadata beside the schema."""
    sink = pa.BufferOutputStream()
    pq.write_table(table.replace_schema_metadata(None), sink, compression="zstd",
                   compression_level=9, use_dictionary=True, version="2.6")
    write_bytes(path, sink.getvalue().to_pybytes())
