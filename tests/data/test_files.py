"""Files are replaced in one step or not at all, and their bytes depend on their content alone."""

import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lengthmirror.files import json_bytes, write_bytes, write_table


@pytest.mark.parametrize("fails_in", ["fsync", "replace"])
def test_failed_write_leaves_what_was_there(tmp_path, monkeypatch, fails_in):
    """A full disk or a failed rename keeps the old file and leaves nothing beside it."""
    path = tmp_path / "file"
    write_bytes(path, b"old")

    def fail(*_):
        raise OSError("no space left")
    monkeypatch.setattr(os, fails_in, fail)
    with pytest.raises(OSError, match="no space left"):
        write_bytes(path, b"new and longer")
    assert path.read_bytes() == b"old" and list(tmp_path.iterdir()) == [path]


def test_file_is_never_seen_half_written(tmp_path, monkeypatch):
    """Until the rename the old file stands whole, and then the new one does."""
    path, seen = tmp_path / "file", []
    write_bytes(path, b"old")
    replace = os.replace

    def looking(source, target):
        seen.append(path.read_bytes())
        replace(source, target)
    monkeypatch.setattr(os, "replace", looking)
    write_bytes(path, b"new")
    assert seen == [b"old"] and path.read_bytes() == b"new"


def test_missing_folders_are_made(tmp_path):
    """A file in a new folder is written with the folder."""
    write_bytes(tmp_path / "a" / "b" / "file", b"content")
    assert (tmp_path / "a" / "b" / "file").read_bytes() == b"content"


def test_json_is_strict_sorted_and_utf8():
    """Keys are sorted, text stays readable, one newline ends the file, and NaN is refused."""
    expected = '{\n "a": [\n  1,\n  null\n ],\n "b": "é"\n}\n'
    assert json_bytes({"b": "é", "a": [1, None]}) == expected.encode("utf-8")
    with pytest.raises(ValueError, match="not JSON compliant"):
        json_bytes({"a": float("nan")})


def test_table_bytes_depend_on_the_rows_alone(tmp_path):
    """Metadata and chunks of a table in memory leave no trace in the file."""
    plain = pa.table({"a": [1, 2, 3], "b": ["x", "y", "z"]})
    other = pa.concat_tables([plain.slice(0, 1), plain.slice(1)])
    other = other.replace_schema_metadata({"k": "v"})
    for name, table in (("plain", plain), ("other", other.combine_chunks())):
        write_table(tmp_path / name, table)
    assert (tmp_path / "plain").read_bytes() == (tmp_path / "other").read_bytes()
    assert pq.read_table(tmp_path / "plain").equals(plain)
