"""A reader is made small, scored and told of as it is."""

from __future__ import annotations

from pathlib import Path

import pytest
from transformers import AutoModelForQuestionAnswering

from ctxzoo.hub.checkpoint_folder import has_half_precision_weights
from ctxzoo.results.result import RESULTS_DIR, read_results, write_result
from ctxzoo.tasks.question_answering.data import SquadDataModule
from ctxzoo.tasks.question_answering.task import evaluate
from recipes.small_reader import Settings, main
from tests.support.tiny_checkpoint import WORDS, tiny_result, tiny_tokenizer, write_tiny


@pytest.fixture
def whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small_sample: None) -> Settings:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CTXZOO_CACHE", str(tmp_path / "cache"))
    data = SquadDataModule("sample", tokenizer=tiny_tokenizer())
    data.setup()
    result = tiny_result(
        dataset="sample",
        data={"source": "sample", "fingerprint": data.fingerprint},
        settings={**tiny_result().settings, "squad_version": "2.0"},
        tag="reader",
    )
    checkpoint = write_tiny(Path("whole"), result=result, no_answer_threshold=0.3)
    whole = str(write_result(result, "whole_results"))
    return Settings(checkpoint=str(checkpoint), result=whole, keep_words=6, progress=False)


def test_its_folder_and_results_tell_of_the_small_reader(whole: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    main(whole)
    (result,) = read_results(RESULTS_DIR)
    assert (result.recipe, result.tag, result.split) == ("squad_bidaf", "reader-words6", "test")
    assert result.settings["keep_words"] == 6
    assert result.command.startswith("python recipes/squad_bidaf.py --dataset ctxzoo-data/squad_v2_mini")
    folder = Path("runs/small_reader/learned_char3-sample-test-seed1-reader-words6/checkpoint")
    assert has_half_precision_weights(folder)
    model = AutoModelForQuestionAnswering.from_pretrained(folder)
    assert model.config.vocab_size == 8
    assert result.parameters["total"] == sum(p.numel() for p in model.parameters())
    scores = evaluate(str(folder), "sample", progress=False)
    assert result.metrics["test/f1_at_threshold"] == pytest.approx(scores["f1_at_threshold"], rel=1e-4)
    kept = {name: result.per_example[f"test/articles/{name}"] for name in ("questions", "exact", "f1")}
    assert len(kept["questions"]) > 1  # the sample has several articles
    for name in ("exact", "f1"):  # the articles add up to the split, at the model's threshold
        share = 100 * sum(kept[name]) / sum(kept["questions"])
        assert share == pytest.approx(scores[f"{name}_at_threshold"], rel=1e-4)
    assert f"| keep_words | {6} |" in (folder / "README.md").read_text()
    assert "test/unknown_words" in capsys.readouterr().out


def test_words_are_chosen_without_the_test_split(whole: Settings) -> None:
    main(whole.copy_with({"score": "validation", "keep_words": len(WORDS)}))
    (result,) = read_results(RESULTS_DIR)
    assert result.split == "validation"
    assert not [name for name in result.metrics if name.startswith("test/")]
    # Nothing is left out.
    data = SquadDataModule("sample", tokenizer=tiny_tokenizer())
    data.setup()
    counts = data.count_word_id_occurrences("validation")
    assert result.metrics["validation/unknown_words"] == pytest.approx(100 * counts[1] / counts.sum(), rel=1e-4)


def test_other_data_than_that_of_the_training_is_refused(whole: Settings) -> None:
    (result,) = read_results("whole_results")
    result.data["fingerprint"] = "test 00ff"
    other = whole.copy_with({"result": str(write_result(result, "other"))})
    with pytest.raises(ValueError, match=r"sample has the content .* was made with test 00ff; expected the data"):
        main(other)
    assert not Path(RESULTS_DIR).exists() or not list(Path(RESULTS_DIR).rglob("*.json"))


def test_both_files_are_asked_for() -> None:
    with pytest.raises(ValueError, match="--result names nothing"):
        Settings(checkpoint="somewhere")


def test_a_results_file_that_is_not_there_is_named() -> None:
    with pytest.raises(ValueError, match=r"--result FILE: no such file; a run of recipes/squad_bidaf\.py writes one"):
        Settings(checkpoint="somewhere", result="FILE")
