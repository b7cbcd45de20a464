"""The checkpoint folders of model_cards/: whole, small, without code, with this release's card, open by three doors."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import transformers
from transformers import AutoTokenizer

import ctxzoo
from ctxzoo.cli.renew import build_published_card, main, rewrite_card, write_published_folder
from ctxzoo.hub.checkpoint_folder import check_checkpoint_folder, has_half_precision_weights
from ctxzoo.hub.eval_results import build_eval_results_files
from ctxzoo.hub.folder_checks import find_head_class, read_architecture
from ctxzoo.hub.folder_files import has_packed_code
from ctxzoo.hub.published import Entry, read_published_entries
from ctxzoo.hub.saved_model import load_saved_model
from ctxzoo.hub.task_card import TaskCard
from ctxzoo.models.modeling_base import ZooPreTrainedModel
from ctxzoo.models.pipeline_question_answering import QuestionAnsweringPipeline
from ctxzoo.results.result import read_result, write_result
from ctxzoo.tasks import get_card_of_head
from ctxzoo.tasks.text_classification.card import TURNED
from tests.hub.test_card import python_blocks
from tests.support import doors_reader
from tests.support.doors import packed_form, printed_offline
from tests.support.subprocesses import REPOSITORY_ROOT
from tests.support.tiny_checkpoint import tiny_result, write_tiny
from tests.tasks.polyphonic_music import test_three_doors as doors_music
from tests.tasks.sequences import test_three_doors as doors_sequences
from tests.tasks.text_classification import test_three_doors as test_three_doors_classifier
from tests.tasks.token_classification import test_three_doors as doors_taggers
from tests.tasks.vote_prediction import test_three_doors as doors_votes
from tests.tasks.word_embeddings import test_three_doors as test_three_doors_word_embedding

PUBLISHED = read_published_entries(REPOSITORY_ROOT)
each_folder = pytest.mark.parametrize("folder", PUBLISHED, ids=lambda path: path.name)
# Bytes; of the others:
LARGEST = {
    "attention-cbow-wikipedia": 4 * 10**6,
    "beta-lstm-chorales": 4 * 10**6,
    "bidaf-squad": 12 * 10**6,
    "contextualizer-mr-best": 5 * 10**6,
    "contextualizer-subj": 5 * 10**6,
    "hcrnn-citeulike": 4 * 10**6,
    "lama-imdb": 9 * 10**6,
    "lama-reuters8": 4 * 10**6,
    "nipen-senate": 4 * 10**6,
    "tagger-ewt": 3 * 10**6,
}
USUAL = 2 * 10**6
DOORS: dict[str, Any] = {
    "text-classification": test_three_doors_classifier,
    "fill-mask": test_three_doors_word_embedding,
    "question-answering": doors_reader,
}
OWN_DOORS: dict[str, Any] = {  # of problems whose outputs are not one answer for a text
    "next-event": doors_sequences,
    "polyphonic-music": doors_music,
    "session-recommendation": doors_sequences,
    "token-classification": doors_taggers,
    "vote-prediction": doors_votes,
}


def head_in(folder: Path) -> type[ZooPreTrainedModel]:
    architecture, config = read_architecture(folder)
    return find_head_class(architecture, config, folder)


def task_in(folder: Path) -> TaskCard:
    return get_card_of_head(head_in(folder))


def without_scores(card: str) -> str:
    """Machines differ in the last digits."""
    return re.sub(r"'score': [0-9.e-]+", "'score': …", card)


def test_every_folder_is_entered() -> None:
    folders = {path.parent for path in (REPOSITORY_ROOT / "model_cards").glob("*/config.json")}
    page = (REPOSITORY_ROOT / "model_cards" / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| \[(\S+)\]", page, flags=re.MULTILINE)) == {folder.name for folder in folders}
    assert folders == set(PUBLISHED)


@each_folder
def test_the_page_tells_its_parameters_and_size(folder: Path) -> None:
    page = (REPOSITORY_ROOT / "model_cards" / "README.md").read_text(encoding="utf-8")
    (row,) = (line for line in page.splitlines() if line.startswith(f"| [{folder.name}]"))
    trained = read_result(PUBLISHED[folder].result).parameters["trainable"]
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    assert f"; {trained:,} trained parameters" in row
    assert row.endswith(f" | {size / 1e6:.1f} MB |")


@each_folder
def test_whole_and_small_without_code_and_with_the_card_of_this_release(folder: Path) -> None:
    check_checkpoint_folder(folder)  # on failure: make docs
    assert not has_packed_code(folder)
    assert sum(path.stat().st_size for path in folder.rglob("*")) < LARGEST.get(folder.name, USUAL)
    result, task = read_result(PUBLISHED[folder].result), task_in(folder)
    model = head_in(folder).from_pretrained(folder)
    assert sum(p.numel() for p in model.parameters() if p.requires_grad) == result.parameters["trainable"]
    tokenizer = AutoTokenizer.from_pretrained(folder) if (folder / "tokenizer.json").exists() else None
    card = build_published_card(PUBLISHED[folder], result, model, tokenizer, half=has_half_precision_weights(folder))
    assert without_scores((folder / "README.md").read_text(encoding="utf-8")) == without_scores(card)
    scores = {path.relative_to(folder).as_posix(): path.read_text() for path in folder.glob(".eval_results/*")}
    assert scores == build_eval_results_files(result, task)


def flat(predictions: list[Any]) -> list[dict[str, Any]]:
    """Those of all texts one after the other."""
    return [one for found in predictions for one in (found if isinstance(found, list) else [found])]


def assert_same(found: dict[str, Any], wanted: dict[str, Any], abs: float = 1e-5) -> None:
    assert found == {**wanted, "score": pytest.approx(wanted["score"], abs=abs)}


def only(predictions: Any) -> dict[str, Any]:
    """That of one text, which readers give bare and other pipelines in a list."""
    found: dict[str, Any] = predictions
    if isinstance(predictions, list):
        (found,) = predictions
    return found


def predictions_here(folder: Path, tag: str, texts: list[Any]) -> list[Any]:
    """Of the package's own pipeline in this process."""
    if tag != "question-answering":
        found: list[Any] = transformers.pipeline(tag, model=str(folder))(texts)
        return found
    reader = QuestionAnsweringPipeline(
        model=transformers.AutoModelForQuestionAnswering.from_pretrained(folder),
        tokenizer=AutoTokenizer.from_pretrained(folder),
    )
    return [reader(**text) for text in texts]


@pytest.mark.slow
@each_folder
def test_three_doors_and_what_the_card_says(folder: Path, tmp_path: Path) -> None:
    check_doors_and_card(folder, tmp_path)


@pytest.mark.slow
def test_a_reader_is_checked_as_the_others_are(tmp_path: Path) -> None:
    result = tiny_result(dataset="ctxzoo-data/squad_v1_mini")
    folder = write_tiny(tmp_path / "start", squad_version="1.1", result=result)
    write_published_folder(tmp_path / "reader", folder, Entry(result=write_result(result, tmp_path)))
    check_doors_and_card(tmp_path / "reader", tmp_path)


def check_doors_and_card(folder: Path, tmp_path: Path) -> None:
    """Each door gives what the model gives here: the package's of the folder, the others of its packed form."""
    task = task_in(folder)
    if task.name in OWN_DOORS:
        OWN_DOORS[task.name].check_doors(folder, tmp_path)
        return
    tag = str(task.pipeline_tag)
    doors = DOORS[tag]
    packed = packed_form(folder, tmp_path)
    package = doors.open_with(doors.MODEL, folder, "import ctxzoo", "{}")
    remote = doors.open_with(doors.MODEL, packed, options='{"trust_remote_code": True}')
    pipeline = doors.open_with(doors.PIPELINE, packed)
    assert package["ctxzoo"] is True
    assert remote["result"] == package["result"]
    here = predictions_here(folder, tag, doors.TEXTS)
    for found, wanted in zip(flat(pipeline["result"]), flat(here), strict=True):
        assert_same(found, wanted)
    scores = [one["score"] for one in flat(pipeline["result"])]
    assert scores == pytest.approx(doors.scores_of(package["result"], AutoTokenizer.from_pretrained(folder)), abs=1e-5)
    for door in (remote, pipeline):
        assert door["ctxzoo"] is False
        assert door["module"].startswith("transformers_modules.")

    example, *_, as_pipeline = python_blocks((folder / "README.md").read_text(encoding="utf-8"))
    program = example.replace("path/to/this/folder", str(packed)) + "\n" + as_pipeline
    found = only(eval(printed_offline(program, without_ctxzoo=True).splitlines()[-1]))
    said = only(eval(as_pipeline.splitlines()[-1].removeprefix("# ")))
    assert_same(found, said, abs=1e-3)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_renewing_writes_the_card_and_nothing_else(tmp_path: Path) -> None:
    folder, result = next(iter(PUBLISHED.items()))
    copy = Path(shutil.copytree(folder, tmp_path / folder.name))
    (copy / "README.md").write_text("old")
    before = contents(copy)
    rewrite_card(copy, result)
    after = contents(copy)
    assert without_scores(after.pop("README.md").decode()) == without_scores((folder / "README.md").read_text())
    assert after == {name: content for name, content in before.items() if name != "README.md"}


@each_folder
def test_made_again_of_its_packed_form_it_is_the_same(folder: Path, tmp_path: Path) -> None:
    write_published_folder(tmp_path / "again", packed_form(folder, tmp_path), PUBLISHED[folder])
    found, wanted = contents(tmp_path / "again"), contents(folder)
    cards = [without_scores(of.pop("README.md").decode()) for of in (found, wanted)]
    assert cards[0] == cards[1]
    for of in (found, wanted):  # another release of transformers may write itself
        of["config.json"] = re.sub(rb'"transformers_version": "[^"]*"', b"", of["config.json"])
    assert found == wanted


def test_a_tokenizer_gets_the_limit_of_the_training(tmp_path: Path) -> None:
    folder, result = next((folder, result) for folder, result in PUBLISHED.items() if folder.name == "lama-reuters8")
    copy = Path(shutil.copytree(folder, tmp_path / folder.name))
    file = copy / "tokenizer_config.json"
    for before, after in ((None, 512), (99, 99)):
        content = json.loads(file.read_text())
        file.write_text(json.dumps({**content, "model_max_length": before}))
        write_published_folder(copy, copy, result)
        assert AutoTokenizer.from_pretrained(copy).word_limit == after


def test_a_new_folder_is_entered_and_other_results_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, entry = next(iter(PUBLISHED.items()))
    monkeypatch.chdir(tmp_path)
    Path("model_cards").mkdir()
    shutil.copy(entry.result, "run.json")
    main(["again", str(folder), "run.json"])
    assert json.loads(Path("model_cards/published.json").read_text()) == {"again": {"result": "run.json"}}
    check_checkpoint_folder("model_cards/again")

    changed = json.loads(Path("run.json").read_text()) | {"architecture": "bidaf"}
    Path("other.json").write_text(json.dumps(changed))
    with pytest.raises(SystemExit):
        main(["other", str(folder), "other.json"])
    assert "is a word_embedding, but other.json is of a bidaf" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["other", str(folder)])
    assert "give all of NAME, CHECKPOINT and RESULT, or none" in capsys.readouterr().err


def test_an_entry_whose_baseline_or_mistake_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model_cards").mkdir()
    index = {"reader": {"result": "run.json", "baselines": {"a coin": "results/coin-*.json"}}}
    (tmp_path / "model_cards" / "published.json").write_text(json.dumps(index))
    with pytest.raises(ValueError, match=r"results/coin-\*\.json, and no such results file"):
        read_published_entries(tmp_path)
    folder = next(folder for folder in PUBLISHED if folder.name == "lama-imdb")
    model, tokenizer = load_saved_model(str(folder))
    right = replace(PUBLISHED[folder], failure={"inputs": {"text": "Awful."}, "answer": "label", "right": "neg"})
    with pytest.raises(ValueError, match="which is right about it"):
        right.collect_surroundings(model, tokenizer, task_in(folder))


@pytest.mark.parametrize("name", ["contextualizer-mr", "contextualizer-mr-best", "lama-imdb"])
def test_negations_are_misread_as_the_cards_of_sentiment_say(name: str) -> None:
    found = ctxzoo.pipeline(str(REPOSITORY_ROOT / "model_cards" / name))(list(TURNED))
    assert [one["label"] for one in found] == ["neg"] * len(TURNED)
    assert '"never boring" negative' in (REPOSITORY_ROOT / "model_cards" / name / "README.md").read_text()
