"""`ctxzoo train` from the command line: mistakes in one line, divided data, search, resuming, going on."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import datasets
import pytest
import torch

import ctxzoo
from ctxzoo.cli.main import main
from ctxzoo.results.result import TRIALS, read_result, read_results
from ctxzoo.runs.problem import list_architectures_of_problem
from ctxzoo.tasks import PROBLEMS, get_problem
from ctxzoo.tasks.text_classification.problem import TextClassification
from ctxzoo.training.callbacks import StopOnInterrupt
from tests.support.own_data import COMPLAINTS, write_reviews, write_tags
from tests.support.tiny_word_embedding import write_tiny as write_tiny_embeddings

TEXTS, TAGS, WORDS, READER = "text-classification", "token-classification", "word-embeddings", "question-answering"
TINY = ("--tiny", "--linear", "no")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CTXZOO_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    threads = torch.get_num_threads()
    yield tmp_path
    torch.set_num_threads(threads)


def train(*arguments: str) -> int:
    return main(["train", *arguments])


def refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """Return the one line of a mistake, behind notes of what was read; nothing was trained."""
    assert train(*arguments) == 2
    captured = capsys.readouterr()
    *notes, line = captured.err.splitlines()
    assert all(note.startswith("note: ") for note in notes)
    assert line.startswith("ctxzoo: error: ")
    assert not list(Path().rglob("lightning"))
    return line


ROWS = "".join(f"text {i} is {word},{'pn'[i % 2]}\n" for i in range(20) for word in ("good", "bad"))
MISTAKES: dict[str, tuple[str, bytes | None, tuple[str, ...], str]] = {
    "missing file": ("none.csv", None, (), "no file or folder 'none.csv'; expected one, or a Hub id such as"),
    "wrong suffix": (
        "a.xlsx",
        b"x",
        (),
        "a.xlsx is no .csv, .tsv, .jsonl, .parquet file; name one, a folder, or a Hub",
    ),
    "empty file": ("a.csv", b"", (), "a.csv holds no row; expected a line with the names"),
    "empty lines": ("a.jsonl", b"\n\n", (), "a.jsonl: no rows; expected at least one text with its label"),
    "no column": (
        "a.csv",
        f"text,label\n{ROWS}".encode(),
        ("--text_column", "body"),
        "no column 'body' for the text; rename one of ['text', 'label'], which its first line says (or set --text_col",
    ),
    "one label": ("a.csv", b"text,label\n" + b"t,a\n" * 20, (), "a.csv: the only label is 'a'; expected two or more"),
    "numbers": (
        "a.csv",
        b"id,text,label\n" + b"1,good,p\n2,bad,n\n" * 10,
        ("--text_column", "id"),
        "every text is a number, as '1'; name the column of the texts (or set --text_column)",
    ),
    "blank text": ("a.csv", b"text,label\ngood,a\n  ,b\n", (), "row 1: the text in column 'text' is empty: ' '; leave"),
    "float labels": (
        "a.csv",
        b"text,label\ngood,0.5\nbad,1.0\n",
        (),
        "column 'label' has the type number with a fraction (row 0: 0.5); expected integers",
    ),
    "Windows": ("a.csv", "text,label\nschön,a\n".encode("cp1252"), (), "not UTF-8 text at byte 14; save it as UTF-8"),
    "semicolons": (
        "a.csv",
        b"text;label\ngood;a\n",
        (),
        "its columns are set apart by semicolons; save it with commas",
    ),
    "no header": (
        "a.csv",
        ROWS.encode(),
        (),
        "rename one of ['text 0 is good', 'p'], which its first line says (or set --text_column, --label_column) (or "
        "set --no_header, where that is a row)",
    ),
    "numbers without a header": (
        "a.csv",
        b"5,3.5\n6,4\n" * 9,
        (),
        "a.csv: its first line begins with '5, 3.5', numbers and no names of columns; add a line of names (or set "
        "--no_header, where it is a row)",
    ),
    "a lone quote": (
        "a.csv",
        b'text,label\ngood,p\n"bad,n\n' + b"fine,p\n" * 9,
        (),
        "a.csv, line 3: '\"bad,n': a quote (\") opens a field and none closes it; write a quote inside a text as",
    ),
    "header twice": (
        "a.csv",
        b"text,label,text\na,b,c\n",
        (),
        "several columns are called 'text'; give each a name of",
    ),
    "a comma too many": (
        "a.csv",
        b"text,label\na, b,c\n",
        (),
        "line 2: 3 columns, expected 2: 'a | b | c'; put a text",
    ),
    "too small": (
        "a.csv",
        b"text,label\ngood,p\nbad,n\n",
        (),
        "a.csv has 2 texts; expected 10 or more, to train, valid",
    ),
    "all equal": (
        "a.csv",
        b"text,label\n" + b"x,p\ny,n\n" * 9,
        (),
        "none is left for validation, since equal texts stay",
    ),
    "no checkpoint": (
        "a.csv",
        f"text,label\n{ROWS}".encode(),
        ("--init_from", "a.csv"),
        "a.csv",
    ),
    "no such checkpoint": (
        "a.csv",
        f"text,label\n{ROWS}".encode(),
        ("--init_from", "no/such/place"),
        "there is no checkpoint 'no/such/place': no such folder or file, and no Hub id, as user/name",
    ),
    "unknown architecture": (
        "a.csv",
        f"text,label\n{ROWS}".encode(),
        ("--architecture", "bidaf"),
        f"unknown --architecture 'bidaf'; for text classification: {', '.join(list_architectures_of_problem(TEXTS))}",
    ),
    "unknown variant": (
        "a.csv",
        f"text,label\n{ROWS}".encode(),
        ("--variant", "huge"),
        "unknown --variant 'huge'; text_baseline has mean, attention, cnn, bigru",
    ),
    "folder of a file": (
        "a.csv",
        f"text,label\n{ROWS}".encode(),
        ("--output_dir", "a.csv/runs"),
        "cannot write to a.csv/runs/train_text_classification: ",
    ),
    "a rate of nothing": (
        "a.csv",
        f"text,label\n{ROWS}".encode(),
        ("--learning_rate", "0"),
        "learning_rate=0.0: expected more than 0",
    ),
    "no minutes": ("a.csv", f"text,label\n{ROWS}".encode(), ("--tune", "0"), "tune=0.0: expected more than 0"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_line_that_says_what_to_do(mistake: str, capsys: pytest.CaptureFixture[str]) -> None:
    name, content, options, said = MISTAKES[mistake]
    if content is not None:
        Path(name).write_bytes(content)
    assert said in refused([TEXTS, "--data", name, *options], capsys)


OTHERS: dict[str, tuple[str, str, bytes, tuple[str, ...], str]] = {
    "a table of questions": (READER, "a.csv", b"x", (), "a.csv is not a .json file; name a SQuAD JSON file, a folder"),
    "other JSON": (READER, "a.json", b"{}", (), "a.json, the file: no key 'data'; found none"),
    "half a JSON": (READER, "a.json", b"{", (), "a.json, line 1, column 2: not JSON: "),
    "words without tags": (
        TAGS,
        "a.conll",
        b"word\n\n",
        (),
        "line 1: 'word' has 1 column; expected a word and its tag",
    ),
    "a tag is missing": (
        TAGS,
        "a.conll",
        b"a B\nb\n",
        (),
        "line 2: 'b' has 1 column; expected 2 as in most lines",
    ),
    "one tag": (TAGS, "a.conll", b"a O\n\n" * 20, (), "a.conll: the only tag is 'O'; expected two or more"),
    "no such tags": (
        TAGS,
        "a.conll",
        b"a X\nb O\n\n" * 20,
        ("--tag_column", "ner"),
        "no column 'ner' for the tags; there",
    ),
    "a table of words": (
        WORDS,
        "a.csv",
        b"text\na b\n",
        (),
        "a.csv is a .csv file; expected running text, a sentence or",
    ),
    "blank lines": (
        WORDS,
        "a.txt",
        b"\n\n",
        (),
        "a.txt holds no text; expected a sentence or a paragraph in each line",
    ),
    "not UTF-8": (WORDS, "a.txt", "schön\n".encode("cp1252"), (), "a.txt, line 1: b'\\xf6' is not UTF-8; convert the"),
    "a size out of bounds": (
        "regression",
        "a.csv",
        "".join(["a,b\n", *(f"{n},2\n" for n in range(40))]).encode(),
        ("--hidden_size", "1000000"),
        "ctxzoo: error: a setting of the model: hidden_size must be at most 100,000, got 1000000",
    ),
    "no batches": (
        WORDS,
        "a.txt",
        b"a b c\n" * 9,
        ("--batch_size", "3"),
        "batch_size=3: the compiled loops go word by word on the CPU, in 32 bits; leave it out, or give --backend",
    ),
}


@pytest.mark.parametrize("mistake", OTHERS)
def test_mistakes_of_other_problems(mistake: str, capsys: pytest.CaptureFixture[str]) -> None:
    problem, name, content, options, said = OTHERS[mistake]
    Path(name).write_bytes(content)
    assert said in refused([problem, "--data", name, *options], capsys)


def test_a_folder_without_data_and_one_without_training_rows(capsys: pytest.CaptureFixture[str]) -> None:
    Path("empty").mkdir()
    assert "the folder empty holds no file of data; expected .csv" in refused([TEXTS, "--data", "empty"], capsys)
    Path("half").mkdir()
    write_reviews(Path("half/test.csv"), 20)
    assert "half has the splits ['test'], none to train on" in refused([TEXTS, "--data", "half"], capsys)


def test_a_hub_id_without_network(capsys: pytest.CaptureFixture[str]) -> None:
    said = refused([TEXTS, "--data", "nobody/nothing"], capsys)
    assert "Dataset 'nobody/nothing' is not available: " in said
    assert "CTXZOO_DATA (or set --data_dir)" in said


def test_a_checkpoint_of_another_problem(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_reviews(Path("a.csv"), 40)
    write_tiny_embeddings(folder / "words")
    said = refused([TEXTS, "--data", "a.csv", "--init_from", "words"], capsys)
    assert "'words' holds a WordEmbeddingForMaskedLM, which does fill-mask; expected a checkpoint of text-class" in said


def test_help_has_the_options_of_the_problem_alone(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        train(TEXTS, "--help")
    assert ended.value.code == 0
    text = capsys.readouterr().out
    assert "--label_column" in text
    assert "--tune" in text
    assert "--tag_column" not in text
    assert "--ngram_buckets" not in text  # of the many numbers of a classifier those that people type
    assert "--help all shows the other options" in text


def test_every_problem_is_offered_and_what_is_none_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        train("--help")
    offered = capsys.readouterr().out
    assert all((get_problem(problem).train_name or problem) in offered for problem in PROBLEMS)
    with pytest.raises(SystemExit) as ended:
        train("rating", "--data", "sample")
    assert ended.value.code == 2
    assert "invalid choice: 'rating'" in capsys.readouterr().err


def test_a_file_is_divided_trained_scored_and_used(capsys: pytest.CaptureFixture[str]) -> None:
    write_reviews(Path("reviews.csv"), 120)
    assert train(TEXTS, "--data", "reviews.csv", "--tiny") == 0
    said = capsys.readouterr().out
    assert "reviews.csv: 120 texts: 96 train, 12 validation, 12 test (validation and test drawn" in said
    assert "a linear model has 100.00 accuracy" in said
    # How long each part takes is told when its first steps or fits are done, before there are scores.
    told = ["linear part, fitted to 96 texts of train: ", "training: ", "linear model beside it, fitted to 108 texts: "]
    places = [said.index(f"\n{line}") for line in told]
    assert places == sorted(places)
    assert said.index("macro f1") > places[1]
    assert " for 16 fits, judged by the first 5" in said
    (file,) = Path("runs/results").rglob("cnn-*.json")
    result = read_result(file)
    assert (result.dataset, result.recipe, result.split) == ("reviews.csv", "train_text_classification", "test")
    assert {"validation/accuracy", "test/accuracy"} <= set(result.metrics)
    (used,) = (line for line in said.splitlines() if line.startswith("    ctxzoo predict "))
    checkpoint = used.split()[2]
    assert main(["predict", checkpoint, "--text", "the lamp is bright"]) == 0
    assert json.loads(capsys.readouterr().out)["label"] in ("complaint", "praise")
    data = next(Path("runs/train_text_classification").glob("data-*"))
    output = Path("scores.json")
    assert main(["evaluate", checkpoint, "--dataset", str(data), "--output", str(output)]) == 0
    scores = json.loads(output.read_text())["metrics"]
    assert scores["accuracy"] == pytest.approx(result.metrics["test/accuracy"], abs=1e-4)


def test_star_ratings_are_trained_on_and_scored(capsys: pytest.CaptureFixture[str]) -> None:
    """1 to 5 are labels of their own in every command, also where some are missing."""
    write_reviews(Path("stars.csv"), 60, labels=("1", "2", "3", "4", "5"))
    assert train(TEXTS, "--data", "stars.csv", *TINY) == 0
    (checkpoint,) = Path("runs").rglob("checkpoint")
    said = {}
    for stars in ("12345", "135", "4"):
        lines = Path("stars.csv").read_text().splitlines()
        Path("some.csv").write_text("\n".join([lines[0], *(line for line in lines[1:] if line[-1] in stars)]))
        score = ["evaluate", str(checkpoint), "--dataset", "some.csv", "--split", "train", "--output", "s.json"]
        assert main(score) == 0
        said[stars] = json.loads(Path("s.json").read_text())["metrics"]["nll"]
    assert min(said["135"], said["4"]) < said["12345"] + 1
    Path("some.csv").write_text("text,label\nthe lamp,6\nthe chair,5\n")
    capsys.readouterr()
    assert main(score) == 2
    assert "row 0: label '6', which the model does not have; 1 of 2 rows have such labels" in capsys.readouterr().err
    assert main([*score, "--skip_bad"]) == 0
    assert json.loads(Path("s.json").read_text())["reading"]["counts"] == {"left out as bad": 1}


def test_a_finished_training_is_kept_and_other_settings_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    write_reviews(Path("reviews.csv"), 60)
    command = (TEXTS, "--data", "reviews.csv", *TINY, "--resume")
    assert train(*command) == 0
    (file,) = Path("runs/results").rglob("*.json")
    before = file.read_bytes()
    capsys.readouterr()
    assert train(*command) == 0
    said = capsys.readouterr().out
    assert "this training was finished before; its results are kept" in said
    assert f"checkpoint {Path('runs/train_text_classification').absolute()}" in said
    assert file.read_bytes() == before
    assert train(*command, "--learning_rate", "0.5") == 2
    assert "learning_rate=0.001, not 0.5: resume with the same settings, or start anew" in capsys.readouterr().err


def test_a_changed_file_of_the_same_name_leaves_the_model_before(capsys: pytest.CaptureFixture[str]) -> None:
    command = (TEXTS, "--data", "reviews.csv", *TINY)
    places = []
    for rows in (60, 70):
        write_reviews(Path("reviews.csv"), rows)
        assert train(*command) == 0
        said = capsys.readouterr().out
        places.append(set(Path("runs").rglob("model.safetensors")))
    first, both = places
    assert (len(first), len(both)) == (1, 2)
    before, after = sorted(read_results("runs/results"), key=lambda one: one.created)
    scores = [one.metrics["test/accuracy"] for one in (before, after)]
    (line,) = (line for line in said.splitlines() if line.startswith("the training before of reviews.csv"))
    assert line == (
        "the training before of reviews.csv (on other rows, with the same settings) had test accuracy "
        f"{scores[0]:.2f}, this one {scores[1]:.2f}; its model is kept in {first.pop().parents[1]}"
    )
    assert train(*command, "--resume") == 0  # of the second file: nothing is trained, nothing compared
    assert "the training before of" not in capsys.readouterr().out


def test_replace_puts_a_training_with_a_changed_file_in_the_place_of_the_one_before(
    capsys: pytest.CaptureFixture[str],
) -> None:
    command = (TEXTS, "--data", "reviews.csv", *TINY)
    for rows, settings in ((60, ()), (70, ("--learning_rate", "0.01"))):
        write_reviews(Path("reviews.csv"), rows)
        assert train(*command, "--replace", *settings) == 0
        said = capsys.readouterr().out
    (checkpoint,) = Path("runs").rglob("checkpoint")
    assert checkpoint.parent.name == "cnn-reviews.csv-test-seed0-tiny"
    assert "(on other rows, with learning_rate 0.001) had test accuracy" in said
    assert "; this one has taken its place" in said
    # Names without the data's content are also those of earlier versions: their results count as they were.
    assert train(*command, "--resume", "--learning_rate", "0.01") == 0
    assert "this training was finished before; its results are kept" in capsys.readouterr().out
    write_reviews(Path("reviews.csv"), 80)
    assert train(*command, "--resume", "--learning_rate", "0.01") == 0
    assert "note: no training on these rows was begun before; it starts anew" in capsys.readouterr().out


def test_ctrl_c_is_told_and_resume_goes_on(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    write_reviews(Path("reviews.csv"), 120)
    at_end = StopOnInterrupt.on_train_batch_end

    def press_ctrl_c(self: StopOnInterrupt, *arguments: Any) -> None:
        signal.raise_signal(signal.SIGINT)
        at_end(self, *arguments)

    command = (TEXTS, "--data", "reviews.csv", *TINY, "--batch_size", "8")
    with monkeypatch.context() as patch:
        patch.setattr(StopOnInterrupt, "on_train_batch_end", press_ctrl_c)
        assert train(*command) == 130
    said = capsys.readouterr().err
    assert "ctxzoo: stopped; the same command with --resume keeps what is finished and goes on" in said
    assert list(Path("runs").rglob("last.ckpt"))
    assert not list(Path("runs/results").rglob("*.json"))
    assert train(*command, "--resume") == 0
    (result,) = read_results("runs/results")
    assert result.metrics["steps"] == 4


def test_a_search_keeps_the_best_and_shows_no_test_score_of_the_others(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_reviews(Path("reviews.csv"), 80)
    space = {"learning_rate": (0.01, 0.03), "epochs": (5, 9)}
    monkeypatch.setattr(TextClassification, "space", space)
    command = (TEXTS, "--data", "reviews.csv", *TINY, "--batch_size", "8", "--epochs", "2")
    assert train(*command, "--tune", "5") == 0
    said = capsys.readouterr().out
    # The preset, and the two of the space; epochs were typed.
    assert [line.split(":")[0] for line in said.splitlines() if line.startswith("trial ")] == [
        "trial 0",
        "trial 1",
        "trial 2",
    ]
    trials = read_results(Path("runs/results") / TRIALS)
    assert len(trials) == 3
    assert {trial.settings["epochs"] for trial in trials} == {2}
    assert not any(name.startswith("test/") for trial in trials for name in trial.metrics)
    best = max(trials, key=lambda trial: trial.metrics["validation/accuracy"])
    (tuned,) = read_results("runs/results")
    assert tuned.settings == best.settings
    assert tuned.metrics["validation/accuracy"] == best.metrics["validation/accuracy"]
    assert tuned.metrics["steps"] == best.metrics["steps"]  # nothing was trained again
    assert "test/accuracy" in tuned.metrics
    assert f"the best has learning_rate {best.settings['learning_rate']:g}" in said
    assert train(*command, "--tune", "5", "--resume") == 0
    assert "this training was finished before; its results are kept" in capsys.readouterr().out


def test_a_search_out_of_time_gives_a_model_of_one_epoch(capsys: pytest.CaptureFixture[str]) -> None:
    write_reviews(Path("reviews.csv"), 60)
    command = (TEXTS, "--data", "reviews.csv", "--architecture", "text_baseline", "--variant", "mean", "--linear", "no")
    assert train(*command, "--tune", "0.0001", "--epochs", "20") == 0
    assert "1 trial in " in capsys.readouterr().out
    (tuned,) = read_results("runs/results")
    (trial,) = read_results(Path("runs/results") / TRIALS)
    assert tuned.metrics["steps"] == trial.metrics["steps"] == 1  # an epoch of 48 rows
    assert list(Path("runs").rglob("*-tuned-data-*/checkpoint/model.safetensors"))


def test_going_on_from_a_checkpoint_keeps_its_words_and_a_new_label_gets_a_new_head(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_reviews(Path("first.csv"), 60)
    assert train(TEXTS, "--data", "first.csv", *TINY) == 0
    (checkpoint,) = Path("runs").rglob("checkpoint")
    capsys.readouterr()
    write_reviews(Path("second.csv"), 60, labels=("no", "so", "yes"), words=("unheard", "of"))
    assert train(TEXTS, "--data", "second.csv", *TINY, "--init_from", str(checkpoint)) == 0
    said = capsys.readouterr().out
    (line,) = (line for line in said.splitlines() if line.startswith("note: the classification head of"))
    assert line.endswith(
        "is for the labels ['complaint', 'praise']; it is replaced by a new one for ['no', 'so', 'yes']"
    )
    (continued,) = Path("runs").rglob("continued-*/checkpoint")
    model, tokenizer = (ctxzoo.pipeline(continued).model, ctxzoo.pipeline(continued).tokenizer)
    assert sorted(model.config.id2label.values()) == ["no", "so", "yes"]
    assert tokenizer.get_vocab() == ctxzoo.pipeline(checkpoint).tokenizer.get_vocab()
    assert COMPLAINTS[0] in tokenizer.get_vocab()
    # The linear part is fitted to the new texts: it knows n-grams that the first ones do not have.
    before, after = (ctxzoo.pipeline(folder).model.wide for folder in (checkpoint, continued))
    rows, rows_before = after.get_row_of_id(), before.get_row_of_id()
    new = (rows > 0) & (rows_before == 0)
    assert new.any()
    assert after.weight[rows[new].long()].any(dim=1).all()
    assert after.weight.size(1) == 3
    capsys.readouterr()
    assert train(TEXTS, "--data", "first.csv", "--init_from", str(checkpoint), "--variant", "cnn") == 2
    assert "is a text_baseline; leave --architecture and --variant out, it says them" in capsys.readouterr().err


def test_settings_of_the_paper(capsys: pytest.CaptureFixture[str]) -> None:
    write_tags(Path("names.conll"), 40)
    assert train(TAGS, "--data", "names.conll", "--tiny", "--settings", "paper") == 0
    (result,) = (one for one in read_results("runs/results") if one.tag == "paper-tiny")
    told = {name: result.settings[name] for name in ("optimizer", "learning_rate", "momentum", "batch_size")}
    assert told == {"optimizer": "sgd", "learning_rate": 0.2, "momentum": 0.95, "batch_size": 100}


def test_an_option_of_other_problems_says_for_which_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "token-classification", "--data", "sample", "--text_column", "subject", "body"]) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert "unrecognized arguments: --text_column subject body; --text_column is for text-classification, " in said
    assert said.endswith("language-modelling, vote-prediction, word-embeddings")
    assert main(["train", "regression", "--data", "sample", "--nonsense"]) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.endswith("unrecognized arguments: --nonsense; --help all shows those that there are")
