from __future__ import annotations

from pathlib import Path

import pytest
import torch

from ctxzoo.word_vectors.exchange import save_word2vec_text
from ctxzoo.word_vectors.vectors import read_word_vectors
from recipes.combine_word_vectors import Settings, main
from tests.word_vectors.test_combination import vectors


def test_two_files_become_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, other = vectors(["a", "b"], 2, 0), vectors(["b", "2007"], 2, 1)
    files = [str(save_word2vec_text(both, tmp_path / name)) for name, both in (("one.txt", one), ("other.txt", other))]
    main(Settings(base=files[0], other=files[1], how="concatenate", name="both", output_dir=str(tmp_path)))
    assert "one: 2 words; other adds 1" in capsys.readouterr().out
    read = read_word_vectors(tmp_path / "both.bin")
    assert (read.words, read.name) == (["a", "b", "2007"], "both")
    torch.testing.assert_close(read.vectors[1], torch.cat([one.vectors[1], other.vectors[0]]))


def test_all_numbers_have_the_spread_that_is_asked_for(tmp_path: Path) -> None:
    file = str(save_word2vec_text(vectors(["a", "b"], 2, 0), tmp_path / "one.txt"))
    main(Settings(base=file, other=file, how="concatenate", vectors_std=2.0, name="wide", output_dir=str(tmp_path)))
    read = read_word_vectors(tmp_path / "wide.bin").vectors
    assert float(read.std()) == pytest.approx(2.0)
    torch.testing.assert_close(read[:, :2], read[:, 2:])


def test_unknown_ways_are_refused() -> None:
    with pytest.raises(ValueError, match="how='mean': expected one of fill, concatenate"):
        Settings(base="a", other="b", name="c").copy_with({"how": "mean"})
    with pytest.raises(ValueError, match="--other names nothing"):
        Settings(base="a", name="c")
