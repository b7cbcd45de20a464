from __future__ import annotations

from pathlib import Path

import pytest

from ctxzoo.data.atomic_write import atomic_file


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file"
    with atomic_file(path) as file:
        file.write(b"first")
        assert not path.exists()
    assert path.read_bytes() == b"first"

    def fail() -> None:
        with atomic_file(path) as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert path.read_bytes() == b"first"
    assert [each.name for each in path.parent.iterdir()] == ["file"]
