"""The command line, command by command, on a tiny checkpoint."""

from __future__ import annotations

import json
import logging
import re
import shutil
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ctxzoo
from ctxzoo.checkpoints import open_checkpoint
from ctxzoo.cli import doctor
from ctxzoo.cli.main import main
from ctxzoo.hub.checkpoint_folder import write_checkpoint_folder
from ctxzoo.hub.saved_model import load_saved_model
from ctxzoo.metrics import SquadV2
from ctxzoo.models.configuration_bidaf import BidafConfig
from ctxzoo.models.configuration_lama import LamaConfig
from ctxzoo.models.modeling_lama import LamaForSequenceClassification
from ctxzoo.models.modeling_text import TextPreTrainedModel
from ctxzoo.models.tokenization_word import build_word_tokenizer
from ctxzoo.tasks.question_answering.task import evaluate as evaluate_reader
from ctxzoo.tasks.text_classification.contributions import explain_text
from ctxzoo.tasks.text_classification.explanation_picture import draw_explanation
from ctxzoo.tasks.text_classification.reader import read_texts
from ctxzoo.tasks.text_classification.task import evaluate as evaluate_classifier
from ctxzoo.tasks.token_classification.card import tag_texts
from ctxzoo.tasks.token_classification.data import TokenClassificationDataModule
from ctxzoo.tasks.token_classification.task import evaluate as evaluate_tagger
from ctxzoo.tasks.word_embeddings.card import CARD as FILL_MASK
from ctxzoo.tasks.word_embeddings.evaluation import evaluate as evaluate_words
from tests.models.cases_lama import SIZES
from tests.support.squad_files import squad_references, write_squad_file
from tests.support.tiny_checkpoint import CONTEXT, QUESTION, ask, tiny_model, tiny_tokenizer, write_tiny
from tests.support.tiny_tagger import tiny_tagger, write_tagger
from tests.support.tiny_word_embedding import TEXT as MASKED
from tests.support.tiny_word_embedding import tiny_model as tiny_embeddings
from tests.support.tiny_word_embedding import tiny_tokenizer as embeddings_tokenizer
from tests.support.tiny_word_embedding import write_tiny as write_tiny_embeddings
from tests.support.toy_classifier import registered_toy, toy_data, write_toy
from tests.support.word_vector_files import small_vectors, write_checkpoint, write_test_sets


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny(tmp_path_factory.mktemp("cli") / "bidaf-tiny")


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CTXZOO_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.fixture(scope="module")
def squad_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_squad_file(tmp_path_factory.mktemp("squad") / "test-v2.0.json", 30)


def refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """The one line of a mistake of the user."""
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.splitlines()) == 1
    return captured.err


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    text = capsys.readouterr().out
    assert all(
        name in text
        for name in ("list", "info", "evaluate", "evaluate-embeddings", "predict", "push", "verify", "doctor")
    )


@pytest.mark.parametrize("arguments", [[], ["fly"], ["evaluate"], ["push", "folder"], ["info"]])
def test_usage_errors_end_with_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert "usage: ctxzoo" in capsys.readouterr().err


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    text = capsys.readouterr().out
    for name in ctxzoo.ARCHITECTURES:
        assert f"docs/models/{name}.md" in text
    row = next(line for line in text.splitlines() if line.split()[:1] == ["bidaf"])
    assert "QuestionAnswering" in row
    assert f" {len(BidafConfig.variants)} " in row


def test_info_of_an_architecture(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", "bidaf"]) == 0
    text = capsys.readouterr().out
    assert "position_embedding" in text
    rows = {line.split()[0]: line.split() for line in text.splitlines() if line.split()}
    # Patel (2022): the baseline, and w = 7 beside 64 for each of the 100 characters and 100 for each of 1024 positions.
    assert rows["baseline"][-1] == "1,439,405"
    assert rows["learned_char7"][-1] == f"{1_684_705 + 64 * 100 + 100 * 1024:,}"
    assert rows["highway"][-2:] == ["40,400", "40,400"]
    assert "ctxzoo/models/modeling_bidaf.py" in text


def test_info_of_a_checkpoint(checkpoint: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", str(checkpoint)]) == 0
    text = capsys.readouterr().out
    model = tiny_model()
    trainable = sum(p.numel() for p in model.parameters() if p.requires_grad)
    total = sum(p.numel() for p in model.parameters())
    rows = {line.split()[0]: line.split() for line in text.splitlines() if line.split()}
    assert rows["all"][1:] == [f"{trainable:,}", f"{total:,}"]
    assert total > trainable
    assert rows["hidden_size"][1:] == ["8", "100"]
    assert rows["words:"][1] == "17"
    assert rows["characters:"][1] == "24"
    assert "position rows 90 to 1023 were never trained" in text


@pytest.mark.parametrize(
    "changes",
    [
        {"max_position_embeddings": 90},
        {"trained_positions": None},  # not known
        {"position_embedding": "none"},
    ],
)
def test_info_without_untrained_rows(
    changes: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_tiny(tmp_path / "short", **changes)
    assert main(["info", str(folder)]) == 0
    assert "never trained" not in capsys.readouterr().out


def test_info_of_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert re.search(r"'bidfa' is neither an architecture \(.*bidaf", refused(["info", "bidfa"], capsys))
    assert "has no config.json" in refused(["info", str(tmp_path)], capsys)


@pytest.mark.slow
def test_evaluate_sample(checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "new" / "scores.json"
    arguments = ["evaluate", str(checkpoint), "--dataset", "sample", "--split", "validation", "--output", str(out)]
    assert main(arguments) == 0
    content = json.loads(out.read_text())
    expected = evaluate_reader(str(checkpoint), "sample", "validation", progress=False)
    assert content["metrics"] == expected
    assert expected["total"] == 400
    assert content["split"] == "validation"
    text = capsys.readouterr().out
    assert f"{expected['f1']:.4f}" in text
    assert "exact match" in text


@pytest.mark.slow
def test_evaluate_and_predict_a_file_agree(
    checkpoint: Path, squad_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scores_file, predictions_file, odds_file = (tmp_path / name for name in ("s.json", "p.json", "n.json"))
    base = [str(checkpoint)]
    arguments = ["--file", str(squad_file), "--output", str(predictions_file), "--na_prob", str(odds_file)]
    assert main(["predict", *base, *arguments]) == 0
    odds = json.loads(odds_file.read_text())
    # The official metric over the predictions gives the scores of `evaluate`.
    rows = squad_references(squad_file)
    assert set(odds) == {row["id"] for row in rows}
    threshold = statistics.median(odds.values())
    for options, suffix in (([], ""), (["--threshold", str(threshold)], "_at_threshold")):
        assert main(["evaluate", *base, "--dataset", str(squad_file), "--output", str(scores_file), *options]) == 0
        assert main(["predict", *base, *arguments, *options]) == 0
        scores = json.loads(scores_file.read_text())["metrics"]
        predictions = json.loads(predictions_file.read_text())
        metric = SquadV2()
        metric.update(
            [{"id": i, "prediction_text": t, "no_answer_probability": odds[i]} for i, t in predictions.items()], rows
        )
        counted = metric.compute()
        for name in ("exact", "f1"):
            assert scores[f"{name}{suffix}"] == pytest.approx(counted[name], abs=1e-4), name
    assert 0 < sum(not text for text in predictions.values()) < 30
    empty = sum(not text for text in predictions.values())
    assert f"30 answers, {empty} of them empty" in capsys.readouterr().out

    # With threshold 1 nothing is refused, with 0 everything.
    for threshold, expected in (("1", 0), ("0", 30)):
        assert main(["predict", *base, *arguments, "--threshold", threshold]) == 0
        assert sum(not text for text in json.loads(predictions_file.read_text()).values()) == expected


def test_predict_one_question(checkpoint: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expected = ask(tiny_model(), tiny_tokenizer())
    assert main(["predict", str(checkpoint), "--question", QUESTION, "--context", CONTEXT]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == expected["answer"]
    assert lines[-1] == f"no-answer score {expected['no_answer_score']:.4f}"
    assert main(["predict", str(checkpoint), "--question", QUESTION, "--context", CONTEXT, "--threshold", "0"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "(no answer)"


def test_predict_needs_no_gold_answers(checkpoint: Path, tmp_path: Path) -> None:
    file, out = tmp_path / "q.json", tmp_path / "p.json"
    questions = [{"id": "ä", "question": QUESTION}]
    file.write_text(json.dumps({"data": [{"paragraphs": [{"context": CONTEXT, "qas": questions}]}]}))
    assert main(["predict", str(checkpoint), "--file", str(file), "--output", str(out)]) == 0
    assert json.loads(out.read_text()) == {"ä": ask(tiny_model(), tiny_tokenizer())["answer"]}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "give either --question with --context, or --file"),
        (["--question", "q", "--context", "c", "--file", "f"], "give either"),
        (["--question", "q"], "belong together"),
        (["--question", "q", "--context", "c", "--output", "o"], "belong to --file"),
        (["--file", "absent.json", "--output", "o.json"], "no file 'absent.json'"),
        (["--file", "absent.csv"], "no file 'absent.csv'"),
        (["--question", " ", "--context", "c"], "question"),
    ],
)
def test_predict_refuses(
    checkpoint: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    assert message in refused(["predict", str(checkpoint), *options], capsys)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[", "not JSON"),
        ("[]", "expected a JSON object"),
        ('{"data": []}', "holds no question"),
        (
            '{"data": [{"paragraphs": [{"context": "c", "qas": [{"id": 1}]}]}]}',
            "qas[0] (id '1'): no key 'question'; found id",
        ),
        (
            '{"data": [{"paragraphs": [{"context": "c", "qas": [{"id": "1", "question": "q"},'
            ' {"id": "1", "question": "q"}]}]}]}',
            "two questions have the id '1'",
        ),
        (
            '{"data": [{"paragraphs": [{"context": "c", "qas": [{"id": "a", "question": "q"},'
            ' {"id": "b", "question": " \\t"}]}]}]}',
            "q.json: the question of id 'b' is empty; leave it out",
        ),
        (
            '{"data": [{"paragraphs": [{"context": " ", "qas": [{"id": "a", "question": "q"}]}]}]}',
            "q.json: the context of id 'a' is empty; leave it out",
        ),
    ],
)
def test_predict_refuses_files(
    checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str, message: str
) -> None:
    file = tmp_path / "q.json"
    file.write_text(content)
    out = tmp_path / "out.json"
    assert message in refused(["predict", str(checkpoint), "--file", str(file), "--output", str(out)], capsys)
    assert not out.exists()


def test_evaluate_refuses(
    checkpoint: Path, squad_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(squad_file)
    message = refused(["evaluate", str(checkpoint), "--dataset", file, "--split", "dev"], capsys)
    assert "has no split 'dev'; it has ['test'] (or set --split)" in message
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    message = refused(["evaluate", str(tmp_path), "--dataset", file], capsys)
    assert "'bert', not one of ctxzoo" in message
    bare = shutil.copytree(checkpoint, tmp_path / "bare")
    (bare / "model.safetensors").unlink()
    assert "model.safetensors" in refused(["evaluate", str(bare), "--dataset", file], capsys)
    with pytest.raises(SystemExit):
        main(["evaluate", str(checkpoint), "--dataset", file, "--threshold", "1.5"])
    assert "1.5 is not between 0 and 1" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["evaluate", str(checkpoint), "--dataset", file, "--batch_size", "0"])
    assert "0 is less than 1" in capsys.readouterr().err


@pytest.mark.parametrize(("name", "split"), [("dev-v1.1.json", "validation"), ("mine.json", "test")])
def test_a_file_of_questions_is_the_split_that_its_name_tells(
    checkpoint: Path, squad_file: Path, tmp_path: Path, name: str, split: str
) -> None:
    shutil.copyfile(squad_file, tmp_path / name)
    out = tmp_path / "scores.json"
    assert main(["evaluate", str(checkpoint), "--dataset", str(tmp_path / name), "--output", str(out)]) == 0
    assert json.loads(out.read_text())["split"] == split


@pytest.fixture(scope="module")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """A classifier's checkpoint folder and its data."""
    with registered_toy():
        root = tmp_path_factory.mktemp("classifier")
        data = toy_data(root)
        yield str(write_toy(root / "toy-tiny", data)), data.dataset


def test_evaluate_a_file_of_texts(
    classifier: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All rows of a file of one's own are scored; none is held out as in a training."""
    checkpoint, dataset = classifier
    texts = read_texts(dataset)
    rows = texts.splits["train"]
    file, out = tmp_path / "my texts.jsonl", tmp_path / "scores.json"
    lines = [{"text": text, "label": texts.label_names[label]} for text, label in zip(*rows[:].values(), strict=True)]
    file.write_text("\n".join(map(json.dumps, lines)))
    message = refused(["evaluate", checkpoint, "--dataset", str(file), "--split", "test"], capsys)
    assert message.endswith("gives no 'test' rows; it gives ['train'] (or set --split)\n")
    assert main(["evaluate", checkpoint, "--dataset", str(file), "--output", str(out)]) == 0
    content = json.loads(out.read_text())
    assert content["split"] == "train"
    found = content["metrics"]
    whole, held_out = (
        evaluate_classifier(checkpoint, str(file), "train", progress=False, **options)
        for options in ({}, {"dev_share": 0.1})
    )
    assert found == pytest.approx(whole, rel=1e-6)
    assert found["nll"] != pytest.approx(held_out["nll"], rel=1e-6)


def test_evaluate_a_classifier(classifier: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    checkpoint, dataset = classifier
    out = tmp_path / "scores.json"
    for options in ({}, {"folds": 2, "fold": 1}):
        more = [word for name, value in options.items() for word in (f"--{name}", str(value))]
        assert main(["evaluate", checkpoint, "--dataset", dataset, "--output", str(out), *more]) == 0
        content = json.loads(out.read_text())
        expected = evaluate_classifier(checkpoint, dataset, progress=False, **options)
        assert content["metrics"] == pytest.approx(expected, rel=1e-6)
        assert {name: content[name] for name in options} == options
        assert "threshold" not in content
        text = capsys.readouterr().out
        places = [text.index(name) for name in ("accuracy", "macro F1", "calibration error, 15 bins", "nats")]
        assert places == sorted(places)
        assert f"{expected['macro_f1']:.4f}" in text


def test_predict_labels(classifier: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    checkpoint, _ = classifier
    texts = ["w1 w2", "w3", "w4 w5 w6 unknown"]
    expected = ctxzoo.pipeline(checkpoint)(texts)
    assert main(["predict", checkpoint, "--text", texts[0]]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == {"label": expected[0]["label"], "score": pytest.approx(expected[0]["score"], rel=1e-5)}
    lines, objects, out = tmp_path / "t.txt", tmp_path / "t.jsonl", tmp_path / "p.json"
    lines.write_text("\n".join(texts))
    objects.write_text("\n".join(json.dumps({"text": text}) for text in texts))
    for file in (lines, objects):
        assert main(["predict", checkpoint, "--file", str(file), "--output", str(out), "--batch_size", "2"]) == 0
        found = json.loads(out.read_text())
        assert [row["label"] for row in found] == [row["label"] for row in expected]
        assert [row["score"] for row in found] == pytest.approx([row["score"] for row in expected], rel=1e-5)
        out.unlink()
    assert "3 labels: " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["predict"], "give either --text, or --file"),
        (["predict", "--text", "a", "--file", "f", "--output", "o"], "give either --text"),
        (["predict", "--text", "a", "--output", "o"], "--output belongs to --file"),
        (["predict", "--file", "absent.txt", "--output", "o.csv"], "no file 'absent.txt'"),
        (["predict", "--file", "absent.txt", "--output", "o.xls"], "o.xls: expected a name that ends in .csv, .tsv"),
        (["predict", "--text", "a", "--explain", "e.pdf"], "'e.pdf'; expected a name that ends in .html"),
        (["predict", "--text", "a", "--explain", "absent/e.png"], "there is no folder 'absent'; make it first"),
        (["predict", "--text", "w1", "--explain", "e.html"], "a ToyForSequenceClassification does not say which table"),
        (["predict", "--text", "\n "], "--text is '\\n '; expected a text"),
        (["predict", "--text", "a", "--question", "q"], "--question: for question-answering, but"),
        (["predict", "--context", "c", "--threshold", "0"], "--context, --threshold: for question-answering, but"),
        (["evaluate", "--dataset", "sample", "--squad_version", "1.1"], "--squad_version: for question-answering"),
        (["evaluate", "--dataset", "sample", "--threshold", "0"], "does text-classification; it takes --text_column"),
        (["evaluate", "--dataset", "sample", "--fold", "1"], "fold=1 without folds"),
        (["evaluate", "--dataset", "sample"], "label 'negative', which the model does not have"),
    ],
)
def test_classifier_refuses(
    classifier: tuple[str, str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
    message: str,
) -> None:
    monkeypatch.delattr(TextPreTrainedModel, "get_input_embeddings")  # explanations alone ask for it
    assert message in refused([options[0], classifier[0], *options[1:]], capsys)


def test_reader_refuses_options_of_classifiers(checkpoint: Path, capsys: pytest.CaptureFixture[str]) -> None:
    message = refused(["predict", str(checkpoint), "--text", "a"], capsys)
    assert "--text: for text-classification, but" in message
    assert "it takes --question, --context, --na_prob, --threshold" in message
    message = refused(["evaluate", str(checkpoint), "--dataset", "sample", "--folds", "5", "--fold", "0"], capsys)
    assert "--folds, --fold: for text-classification, but" in message


@pytest.fixture(scope="module")
def document_classifier(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A checkpoint whose heads say how much each word counts."""
    folder = tmp_path_factory.mktemp("lama") / "lama-tiny"
    LamaForSequenceClassification(LamaConfig(**SIZES)).save_pretrained(folder)
    build_word_tokenizer(["the", "lamp", "is", "solid"]).save_pretrained(folder)
    return str(folder)


def test_words_beyond_the_limit_are_counted(
    document_classifier: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = Path(shutil.copytree(document_classifier, tmp_path / "limited"))
    build_word_tokenizer(["the", "lamp", "is", "solid"], model_max_length=2).save_pretrained(folder)
    assert main(["predict", str(folder), "--text", "the new lamp is very solid"]) == 0
    captured = capsys.readouterr()
    whole = ctxzoo.pipeline(str(folder))
    assert json.loads(captured.out) == {**whole("the lamp")[0], "words_left_out": 2}
    note = "ctxzoo: the model reads the first 2 words that it knows: 2 behind them were left out, in 1 of 1 text\n"
    assert captured.err.endswith(note)

    lines, labels, page = (tmp_path / name for name in ("t.txt", "l.json", "p.html"))
    lines.write_text("the lamp\n" + "the lamp is solid " * 500)
    assert main(["predict", str(folder), "--file", str(lines), "--output", str(labels), "--explain", str(page)]) == 0
    assert [row.get("words_left_out") for row in json.loads(labels.read_text())] == [None, 1998]
    assert "2 words that it knows: 1,998 behind them were left out, in 1 of 2 texts" in capsys.readouterr().err
    assert "1,998 more behind them" in page.read_text(encoding="utf-8")
    assert main(["predict", document_classifier, "--text", "the lamp is solid"]) == 0
    assert "left out" not in capsys.readouterr().err


def test_explain_labels(document_classifier: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page, picture, lines, labels = (tmp_path / name for name in ("p.html", "p.png", "t.txt", "l.json"))
    for out in (page, picture):
        assert main(["predict", document_classifier, "--text", "the <big> lamp", "--explain", str(out)]) == 0
        assert json.loads(capsys.readouterr().out)["label"].startswith("LABEL_")
    assert "&lt;big&gt;" in page.read_text(encoding="utf-8")
    assert picture.read_bytes().startswith(b"\x89PNG")

    lines.write_text("the lamp\nis solid\n")
    for more, named in ([], f"{page}"), (["--output", str(labels)], f"{labels}, {page}"):
        page.unlink()
        assert main(["predict", document_classifier, "--file", str(lines), "--explain", str(page), *more]) == 0
        assert capsys.readouterr().out == f"2 labels: {named}\n"
        assert page.read_text(encoding="utf-8").count("<article") == 2
    assert len(json.loads(labels.read_text())) == 2
    message = refused(["predict", document_classifier, "--file", str(lines), "--explain", str(picture)], capsys)
    assert "a picture of one text, but there are 2; take .html" in message


def test_a_picture_without_matplotlib_is_one_line_before_anything_is_read(
    document_classifier: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "p.png"
    explanation = explain_text(*load_saved_model(document_classifier), "the lamp")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"^plots need matplotlib: pip install matplotlib$"):
        draw_explanation(explanation, out)
    capsys.readouterr()
    monkeypatch.setattr("ctxzoo.hub.saved_model.load_saved_model", None)
    message = refused(["predict", document_classifier, "--text", "the lamp", "--explain", str(out)], capsys)
    assert message == "ctxzoo: error: plots need matplotlib: pip install matplotlib\n"


WRITING = {
    "predict": ["predict", "absent", "--file"],
    "evaluate": ["evaluate", "absent", "--dataset"],
    "known": ["evaluate", "absent", "--dataset", "sample", "--known"],
    "texts": ["predict", "absent", "--file", "-", "--texts"],
    "embeddings": ["evaluate-embeddings"],
}


@pytest.mark.parametrize("arguments", WRITING.values(), ids=WRITING)
def test_an_output_is_looked_at_before_anything_is_read(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """There is no checkpoint, which would be the error of whatever reads it first."""
    rows = tmp_path / "rows.csv"
    rows.write_text("text\na\n")
    (tmp_path / "link.csv").symlink_to(rows)
    arguments = [*arguments, str(rows), "--output"]
    message = refused([*arguments, str(rows / "out.csv")], capsys)
    assert f"cannot write to {rows}: " in message
    assert message.endswith("; choose another --output or free some space\n")
    assert f"--output {tmp_path} is a folder; expected a file" in refused([*arguments, str(tmp_path)], capsys)
    for same in (rows, tmp_path / "link.csv", tmp_path / ".." / tmp_path.name / "rows.csv"):
        assert f"--output {same} is the file that is read" in refused([*arguments, str(same)], capsys)
    assert rows.read_text() == "text\na\n"


def test_a_page_that_cannot_be_written_is_told_before_anything_is_read(
    classifier: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ctxzoo.hub.saved_model.load_saved_model", lambda *_: pytest.fail("the checkpoint is read"))
    (tmp_path / "page.html").mkdir()
    message = refused(["predict", classifier[0], "--text", "w1", "--explain", str(tmp_path / "page.html")], capsys)
    assert f"--explain {tmp_path / 'page.html'} is a folder; expected a file to write" in message


@pytest.mark.parametrize("arguments", [WRITING["predict"], WRITING["evaluate"]], ids=["predict", "evaluate"])
def test_an_output_that_would_be_read_as_data_is_refused(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """There is no checkpoint, which is the error where the output is allowed."""
    rows = tmp_path / "rows"
    (rows / "more").mkdir(parents=True)
    (tmp_path / "link").symlink_to(rows)
    for output in (rows / "a.csv", rows / "more" / "a.JSON", tmp_path / "link" / "a.jsonl", rows / "new" / "a.tsv"):
        message = refused([*arguments, str(rows), "--output", str(output)], capsys)
        assert f"--output {output} lies in {rows}, whose files are read as data" in message
        assert message.endswith("; choose another folder\n")
    for output in (tmp_path / "a.csv", tmp_path / "rows-2" / "a.csv"):
        assert "absent" in refused([*arguments, str(rows), "--output", str(output)], capsys)
    assert [*rows.iterdir()] == [rows / "more"]
    assert "absent" in refused([*WRITING["embeddings"], "absent", "--output", str(rows / "a.json")], capsys)


def test_a_training_that_would_write_into_its_data_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    message = refused(["train", "text-classification", "--data", "."], capsys)
    assert message.startswith("ctxzoo: error: --output_dir runs lies in ., whose files are read as data")
    assert [*tmp_path.iterdir()] == []


def test_files_beside_the_output_are_looked_at_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = tmp_path / "rows.json"
    rows.write_text("{}")
    arguments = ["predict", "absent", "--file", str(rows)]
    assert "--na_prob" in refused([*arguments, "--na_prob", str(rows)], capsys)
    assert "choose another --picture" in refused([*arguments, "--picture", str(rows / "roll.png")], capsys)


def test_readers_are_not_explained(checkpoint: Path, capsys: pytest.CaptureFixture[str]) -> None:
    message = refused(["predict", str(checkpoint), "--question", "q", "--explain", "e.html"], capsys)
    assert "--explain: for text-classification, but" in message


@pytest.fixture(scope="module")
def embeddings(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_tiny_embeddings(tmp_path_factory.mktemp("embeddings") / "word-embedding-tiny"))


def test_predict_words(embeddings: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    best = FILL_MASK.predict(tiny_embeddings(), embeddings_tokenizer(), {"text": MASKED})
    assert main(["predict", embeddings, "--text", MASKED]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(lines) == 5
    assert lines[0] == {"word": best["token_str"], "score": pytest.approx(best["score"], rel=1e-5)}
    file, out = tmp_path / "t.txt", tmp_path / "w.json"
    for texts, told in (([MASKED, "the [MASK]"], "2 texts"), ([MASKED], "1 text")):
        file.write_text("\n".join(texts))
        assert main(["predict", embeddings, "--file", str(file), "--output", str(out)]) == 0
        assert capsys.readouterr().out == f"words for {told}: {out}\n"
        found = json.loads(out.read_text())
        assert [len(row) for row in found] == [5] * len(texts)
        assert found[0][0]["word"] == best["token_str"]


def test_evaluate_embeddings_as_predictors_of_words(
    embeddings: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = tmp_path / "text.txt", tmp_path / "scores.json"
    file.write_text("The mill stands in town .\nIn town the mill stands .\n")
    arguments = ["evaluate", embeddings, "--dataset", str(file), "--split", "train", "--words", "3"]
    assert main([*arguments, "--output", str(out)]) == 0
    content = json.loads(out.read_text())
    assert content["metrics"] == pytest.approx(evaluate_words(embeddings, str(file), "train", words=3))
    assert content["metrics"] != pytest.approx(evaluate_words(embeddings, str(file), "train"))
    assert (content["words"], content["split"]) == (3, "train")
    assert f"{content['metrics']['perplexity']:.4f}" in capsys.readouterr().out


def test_evaluate_prints_the_scores_and_nothing_of_libraries(
    embeddings: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A long name is on one line; Lightning, whose import sets the level of its logger anew, says no word of GPUs."""

    def after_the_import(checkpoint: str) -> Any:
        logging.getLogger("lightning.pytorch").setLevel(logging.INFO)
        return open_checkpoint(checkpoint)

    monkeypatch.setattr("ctxzoo.checkpoints.open_checkpoint", after_the_import)
    file = tmp_path / f"{'long' * 30}.txt"
    file.write_text("The mill stands in town .\n")
    caplog.set_level(logging.NOTSET, "lightning.pytorch.utilities.rank_zero")
    assert main(["evaluate", embeddings, "--dataset", str(file), "--split", "train", "--words", "3"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == f"{embeddings} on {file}"
    assert "GPU available" not in caplog.text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["predict", "--text", "the mill"], "'the mill' has 0 [MASK]; expected one"),
        (["predict", "--text", "[MASK] [MASK]"], "'[MASK] [MASK]' has 2 [MASK]"),
        (["predict"], "give either --text, or --file"),
        (["predict", "--file", "absent.csv"], "no file 'absent.csv'"),
        (["predict", "--text", "a", "--explain", "e.html"], "--explain: for text-classification, but"),
        (["predict", "--question", "q"], "does fill-mask; it takes --text"),
        (
            ["evaluate", "--dataset", "sample", "--split", "dev"],
            "sample has no split 'dev'; it has train, test (or set --split)",
        ),
        (["evaluate", "--dataset", "sample", "--precision", "bf16-mixed"], "masked words are scored with 32-true"),
        (["evaluate", "--dataset", "sample", "--folds", "2"], "does fill-mask; it takes --text_column, --words"),
    ],
)
def test_embeddings_refuse(
    embeddings: str, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    assert message in refused([options[0], embeddings, *options[1:]], capsys)


@pytest.fixture(scope="module")
def tagger(tmp_path_factory: pytest.TempPathFactory) -> str:
    data = TokenClassificationDataModule("sample")
    data.setup()
    model = tiny_tagger(tags=data.label_names, vocab_size=data.tokenizer.num_ids)
    return str(write_tagger(tmp_path_factory.mktemp("tagger") / "tagger-tiny", model, data.tokenizer))


def test_evaluate_a_tagger(tagger: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "scores.json"
    arguments = ["evaluate", tagger, "--dataset", "sample", "--tag_column", "pos_tags", "--output", str(out)]
    assert main(arguments) == 0
    content = json.loads(out.read_text())
    assert content["metrics"] == pytest.approx(evaluate_tagger(tagger, "sample", progress=False), rel=1e-6)
    assert content["tag_column"] == "pos_tags"
    assert f"{content['metrics']['accuracy']:.4f}" in capsys.readouterr().out


def test_predict_tags(tagger: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = ["They can ring the clock .", "Unknown"]
    expected = tag_texts(ctxzoo.pipeline(tagger), texts)
    assert main(["predict", tagger, "--text", texts[0]]) == 0
    lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [line[:2] for line in lines] == [[word["word"], word["tag"]] for word in expected[0]]
    assert [float(line[2]) for line in lines] == pytest.approx([word["score"] for word in expected[0]], abs=1e-4)
    file, out = tmp_path / "t.txt", tmp_path / "p.json"
    file.write_text("\n".join(texts))
    assert main(["predict", tagger, "--file", str(file), "--output", str(out)]) == 0
    assert capsys.readouterr().out == f"tags of 7 words in 2 texts: {out}\n"
    found = json.loads(out.read_text())
    assert [[word["tag"] for word in words] for words in found] == [
        [word["tag"] for word in words] for words in expected
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["predict"], "give either --text, or --file"),
        (["predict", "--text", "a", "--output", "o"], "--output belongs to --file"),
        (["predict", "--file", "absent.csv"], "no file 'absent.csv'"),
        (["predict", "--text", " "], "--text is ' '; expected a text"),
        (["predict", "--text", "a", "--explain", "e.html"], "--explain: for text-classification, but"),
        (["evaluate", "--dataset", "sample", "--folds", "2"], "does token-classification; it takes --tag_column"),
        (["evaluate", "--dataset", "sample", "--tag_column", "x"], "no column 'x' for the tags"),
    ],
)
def test_tagger_refuses(tagger: str, capsys: pytest.CaptureFixture[str], options: list[str], message: str) -> None:
    assert message in refused([options[0], tagger, *options[1:]], capsys)


def test_base_model_is_refused_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_checkpoint_folder(
        tmp_path / "base", model=tiny_model().bidaf, tokenizer=tiny_tokenizer(), card="# Card"
    )
    message = refused(["evaluate", str(folder), "--dataset", "sample"], capsys)
    assert "a BidafModel does no task" in message
    assert "it knows question-answering, text-classification" in message


def test_verify(checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(checkpoint)]) == 0
    assert f"ctxzoo {ctxzoo.__version__}" in capsys.readouterr().out
    changed = shutil.copytree(checkpoint, tmp_path / "changed")
    for name in ("ops_answer.py", "layers_bidaf.py"):
        with (changed / name).open("a") as file:
            file.write("# changed\n")
    assert main(["verify", str(changed)]) == 1
    errors = capsys.readouterr().err
    assert "ops_answer.py differs" in errors
    assert "layers_bidaf.py differs" in errors


def test_debug_shows_the_traceback(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no config\.json"):
        main(["info", str(tmp_path), "--debug"])


def known(findings: list[doctor.Finding]) -> dict[str, doctor.Finding]:
    return {finding.subject: finding for finding in findings}


@pytest.fixture
def no_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor.constants, "HF_HUB_OFFLINE", True)


@pytest.mark.usefixtures("no_hub")
def test_doctor_on_this_machine(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CTXZOO_DATA", raising=False)
    assert main(["doctor"]) == 0
    text = capsys.readouterr().out
    assert all(name in text for name in ("python", "torch", "transformers", "Hub", "CTXZOO_DATA", "extra wandb"))
    assert "offline mode" in text


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.10 reads no TOML")
def test_doctor_reads_every_requirement_of_a_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> None:
        raise doctor.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(doctor.metadata, "metadata", absent)
    python, requirements = doctor._read_requirements()
    assert python == ">=3.10"
    markers = {one.name: str(one.marker) for one in requirements if one.marker is not None}
    assert markers["gensim"] == 'extra == "word2vec"'
    assert 'platform_system == "Linux"' in markers["triton"]
    assert markers["triton"].endswith('extra == "test"')


@pytest.mark.usefixtures("no_hub")
def test_doctor_lists_the_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "rajpurkar" / "squad").mkdir(parents=True)
    (tmp_path / "rajpurkar" / "squad" / "validation.parquet").write_bytes(b"")
    monkeypatch.setenv("CTXZOO_DATA", str(tmp_path))
    found = known(doctor.examine_installation(["rajpurkar/squad", "rajpurkar/squad_v2"]))
    assert found["data rajpurkar/squad"] == doctor.Finding("ok", "data rajpurkar/squad", "files: validation")
    assert found["data rajpurkar/squad_v2"].status == "note"
    monkeypatch.setenv("CTXZOO_DATA", str(tmp_path / "absent"))
    assert "is not a folder" in known(doctor.examine_installation([]))["CTXZOO_DATA"].detail


@pytest.mark.usefixtures("no_hub")
def test_doctor_names_what_is_missing(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    real = doctor.metadata.version

    def version(name: str) -> str:
        if name in ("evaluate", "matplotlib"):
            raise doctor.metadata.PackageNotFoundError(name)
        return "4.57.1" if name == "transformers" else real(name)

    monkeypatch.setattr(doctor.metadata, "version", version)
    assert main(["doctor"]) == 1
    assert "not fit: evaluate, transformers" in capsys.readouterr().out
    found = known(doctor.examine_installation([]))
    assert found["transformers"].detail.startswith("4.57.1 is not supported")
    assert found["evaluate"].detail.startswith("not installed")
    assert (found["extra plots"].status, "matplotlib" in found["extra plots"].detail) == ("note", True)


def test_doctor_says_when_the_hub_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor.constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(doctor.constants, "ENDPOINT", "http://127.0.0.1:9")
    found = known(doctor.examine_installation([]))["Hub"]
    assert (found.status, "http://127.0.0.1:9 does not answer" in found.detail) == ("note", True)


@pytest.mark.usefixtures("no_hub")
def test_doctor_needs_a_cache_that_can_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CTXZOO_CACHE", str(tmp_path / "file" / "cache"))
    assert known(doctor.examine_installation([]))["cache"].status == "missing"


def test_evaluate_embeddings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data_dir = write_test_sets(tmp_path / "data")
    folder = write_checkpoint(tmp_path / "cbow-b20", small_vectors())
    output = tmp_path / "scores.json"
    options = ["--data_dir", str(data_dir), "--restarts", "2", "--output", str(output)]
    assert main(["evaluate-embeddings", str(folder), *options]) == 0
    text = capsys.readouterr().out
    assert "cbow-b20: 23 words, 6 numbers each" in text
    for part in ("upos, 5 states", "pets", "semantic", "SST binary", "3 of 4 pairs"):
        assert part in text
    written = json.loads(output.read_text())
    assert written["vectors"] == "cbow-b20"
    assert written["tasks"]["sentiment"]["metrics"]["test/accuracy"] == 100
    assert written["tasks"]["pos_induction"]["restarts"] == 2

    assert main(["evaluate-embeddings", str(folder), "--tasks", "analogy", "--data_dir", str(data_dir)]) == 0
    text = capsys.readouterr().out
    assert "semantic" in text
    assert "SST" not in text


def test_evaluate_embeddings_refuses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "no such file of word vectors" in refused(["evaluate-embeddings", str(tmp_path / "none.txt")], capsys)
    folder = write_checkpoint(tmp_path / "v", small_vectors())
    arguments = ["evaluate-embeddings", str(folder), "--tasks", "analogy", "--data_dir", str(tmp_path)]
    assert "'ctxzoo-data/word_analogy' is not available" in refused(arguments, capsys)
    with pytest.raises(SystemExit) as ended:
        main(["evaluate-embeddings", str(folder), "--tasks", "tagging"])
    assert ended.value.code == 2
