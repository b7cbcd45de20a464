"""A checkpoint folder opens in three ways, two of them without ctxzoo; a damaged one says what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from transformers import AutoModelForQuestionAnswering

from tests.support.doors import assert_same_as_here, offline, open_all
from tests.support.warm_python import run_warm


@pytest.mark.slow
def test_folder_opens_in_three_ways(whole_checkpoint: Path, tmp_path: Path) -> None:
    assert_same_as_here(open_all(str(whole_checkpoint), offline()))


def test_foreign_checkpoint_is_not_opened_as_ours(checkpoint: Path) -> None:
    (checkpoint / "config.json").write_text('{"model_type": "t5gemma9"}')
    with pytest.raises(ValueError, match="t5gemma9"):
        AutoModelForQuestionAnswering.from_pretrained(checkpoint)


def test_truncated_weights_are_named(checkpoint: Path) -> None:
    weights = checkpoint / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    with pytest.raises(OSError, match="damaged or incomplete"):
        AutoModelForQuestionAnswering.from_pretrained(checkpoint)


def test_planted_pickle_is_not_read(checkpoint: Path) -> None:
    (checkpoint / "model.safetensors").rename(checkpoint / "pytorch_model.bin")
    with pytest.raises(OSError, match=r"model\.safetensors"):
        AutoModelForQuestionAnswering.from_pretrained(checkpoint)


@pytest.mark.slow
def test_missing_code_is_named_without_ctxzoo(checkpoint: Path, tmp_path: Path) -> None:
    (checkpoint / "layers_bidaf.py").unlink()
    code = f"""
        from transformers import AutoModelForQuestionAnswering
        try:
            AutoModelForQuestionAnswering.from_pretrained({str(checkpoint)!r}, trust_remote_code=True)
        except OSError as error:
            print(error)
    """
    finished = run_warm(code, env=offline(), without_ctxzoo=True)
    assert "layers_bidaf.py" in finished.stdout
