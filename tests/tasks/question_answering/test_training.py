"""What `ctxzoo train question-answering` makes of a request: rows, settings, runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoConfig

import ctxzoo  # noqa: F401  registers the architectures
from ctxzoo.cli.main import main
from ctxzoo.results.result import read_results
from ctxzoo.tasks.question_answering.problem import QUESTION_ANSWERING
from tests.support.baselines import check_baselines, result_of
from tests.support.tiny_checkpoint import write_tiny

Articles = list[tuple[str, list[str]]]


def squad(path: Path, articles: Articles, *, answers: bool = True) -> Path:
    """Write a SQuAD JSON file: two questions on each context of each article, the second maybe without an answer."""

    def question(name: str, context: str, answered: bool) -> dict[str, Any]:
        said = [{"text": context.split()[0], "answer_start": 0}] if answered else []
        return {"id": name, "question": f"what begins {name} ?", "answers": said}

    data = []
    for number, (title, contexts) in enumerate(articles):
        paragraphs = []
        for place, context in enumerate(contexts):
            names = (f"{path.stem}-{number}-{place}-{one}" for one in (0, 1))
            asked = zip(names, (True, answers), strict=True)
            paragraphs.append({"context": context, "qas": [question(name, context, one) for name, one in asked]})
        data.append({"title": title, "paragraphs": paragraphs})
    path.write_text(json.dumps({"data": data}), encoding="utf-8")
    return path


def articles(number: int) -> Articles:
    return [(f"title {one}", [f"Place{one} lies by the sea .", f"River{one} flows south ."]) for one in range(number)]


def read(path: Path) -> Any:
    experiment = QUESTION_ANSWERING.get_settings("default", "bidaf", "char7").copy_with(dataset=str(path))
    return QUESTION_ANSWERING.read_user_data(experiment, {}, path.parent)


def test_a_file_of_any_name_is_trained_on_and_questions_on_one_context_stay_together(tmp_path: Path) -> None:
    rows = read(squad(tmp_path / "test-v2.json", articles(3)))
    assert list(rows.splits) == ["train"]
    assert rows.groups["train"].tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    assert rows.together == "questions on one context"


def test_with_many_articles_theirs_stay_together_and_a_context_in_two_joins_them(tmp_path: Path) -> None:
    given = articles(12)
    given[3][1].append(given[7][1][0])
    rows = read(squad(tmp_path / "mine.json", given))
    titles, groups = rows.splits["train"]["title"][:], rows.groups["train"]
    by_title = {
        title: {int(group) for one, group in zip(titles, groups, strict=True) if one == title} for title in titles
    }
    assert all(len(found) == 1 for found in by_title.values())
    assert by_title["title 3"] == by_title["title 7"]
    assert len({group for found in by_title.values() for group in found}) == 11
    assert rows.together == "questions on one article"


@pytest.mark.parametrize("settings", ["default", "paper"])
@pytest.mark.parametrize("variant", QUESTION_ANSWERING.get_variants("bidaf"))
def test_every_setting_makes_a_model(settings: str, variant: str) -> None:
    experiment = QUESTION_ANSWERING.get_settings(settings, "bidaf", variant)
    characters = QUESTION_ANSWERING.build_data_module(experiment).characters
    assert characters == ("char" in variant)
    sizes = {"model_type": "ctxzoo_bidaf", "vocab_size": 30, "char_vocab_size": 9 * characters}
    for one in (experiment, QUESTION_ANSWERING.make_tiny(experiment)):
        fields = {**QUESTION_ANSWERING.get_variants("bidaf")[variant], **one.model.get_config_changes()}
        config = AutoConfig.for_model(**sizes, **fields)
        assert all(getattr(config, name) == value for name, value in fields.items())


def test_settings_of_the_paper_are_those_of_its_recipe() -> None:
    told = QUESTION_ANSWERING.get_settings("paper", "bidaf", "learned_char7").settings()
    names = ("optimizer", "learning_rate", "epochs", "batch_size", "ema_decay", "monitor", "decay")
    assert [told[name] for name in names] == ["adadelta", 0.5, 30, 64, 0.999, "f1", False]


def test_a_checkpoint_of_the_other_version_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_tiny(tmp_path / "reader")
    squad(tmp_path / "mine.json", articles(12))
    assert main(["train", "question-answering", "--data", "mine.json", "--init_from", "reader"]) == 2
    said = capsys.readouterr().err
    assert "reads SQuAD 2.0, and in mine.json every question has an answer, as in SQuAD 1.1; take a" in said


def test_a_sliding_window_stands_beside_a_users_reader(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is asked for stands beside the words of the question, and is no common word of the training contexts."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CTXZOO_CACHE", str(tmp_path / "cache"))
    data = []
    for number in range(20):
        water = ("lake", "sea", "pond", "brook")[number % 4]
        way = ("road", "lane", "path", "track", "trail")[number % 5]
        context = f"By the {water} stands Mill{number} , by the {way} stands Barn{number} ."
        asked = {water: f"Mill{number}", way: f"Barn{number}"}
        questions = [
            {
                "id": f"{number}-{place}",
                "question": f"what stands by the {place} ?",
                "answers": [{"text": answer, "answer_start": context.index(answer)}],
            }
            for place, answer in asked.items()
        ]
        data.append({"title": f"title {number}", "paragraphs": [{"context": context, "qas": questions}]})
    Path("mine.json").write_text(json.dumps({"data": data}), encoding="utf-8")
    command = ["train", "question-answering", "--data", "mine.json", "--tiny"]
    said = check_baselines(command, ["a sliding window has 100.00 F1 and 100.00 exact"], ["sliding_window"], capsys)
    assert "reading every question with a sliding window over words, to stand beside it\n" in said
    window = result_of("sliding_window")
    assert (window.metrics["test/f1"], window.metrics["test/total"]) == (100.0, 4.0)
    assert window.settings["squad_version"] == "1.1"


@pytest.mark.slow
def test_a_reader_is_trained_and_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CTXZOO_CACHE", str(tmp_path / "cache"))
    squad(tmp_path / "mine.json", articles(20), answers=False)
    command = ["train", "question-answering", "--data", "mine.json", "--tiny"]
    assert main(command) == 0
    assert "mine.json: 80 questions: 64 train, 8 validation, 8 test" in capsys.readouterr().out
    (checkpoint,) = Path("runs").rglob("checkpoint")
    assert main([*command, "--init_from", str(checkpoint)]) == 0
    first, second = (one for one in read_results("runs/results") if one.architecture == "bidaf")
    assert {first.variant, second.variant} == {"char7", "continued"}
    assert first.parameters == second.parameters
    context = "Place1 lies by the sea ."
    assert main(["predict", str(checkpoint), "--question", "what begins ?", "--context", context]) == 0
