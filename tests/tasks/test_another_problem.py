"""A problem without text, tokenizer, Auto class or pipeline, whose score is better when lower, goes the whole way."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest
import torch
from transformers import AutoConfig

import ctxzoo
from ctxzoo.cli.main import main
from ctxzoo.hub.card_facts import ARCHITECTURE_FACTS
from ctxzoo.hub.folder_checks import CheckpointFolderError, check_checkpoint_folder
from ctxzoo.models import ARCHITECTURES
from ctxzoo.models.registration import register_architecture
from ctxzoo.results.result import RunResult, read_result
from ctxzoo.runs.many import run_all
from ctxzoo.runs.run import execute
from ctxzoo.runs.train import ExperimentRun
from ctxzoo.tasks import get_card, get_card_of_head, get_problem
from ctxzoo.training.task import AutoHead, NonFiniteLossError, ZooTask
from tests.hub.test_card import python_blocks
from tests.support import rating as rating_problem
from tests.support.rating.architecture import RatingConfig, RatingForPairs
from tests.support.rating.card import CARD as RATING
from tests.support.rating.problem import Rating
from tests.support.rating.run import rating_run, registered_rating
from tests.support.subprocesses import REPOSITORY_ROOT
from tests.support.toy.case import TOY
from tests.support.toy.configuration_toy import ToyConfig

PAGE = REPOSITORY_ROOT / "docs" / "adding_a_problem.md"


@pytest.fixture(autouse=True)
def rating() -> Iterator[None]:
    with registered_rating():
        yield


@pytest.fixture
def run(tmp_path: Path) -> ExperimentRun:
    return rating_run(tmp_path)


@pytest.fixture
def result(run: ExperimentRun) -> RunResult:
    return execute(run)


def test_an_architecture_without_facts_for_its_card_is_refused_before_it_trains(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with monkeypatch.context() as without:
        without.delitem(ARCHITECTURE_FACTS, "rating")
        with pytest.raises(ValueError, match=r"no card facts for 'rating'; add them to ctxzoo/hub/architectures\.yaml"):
            rating_run(tmp_path)
    with pytest.raises(ValueError, match="unknown architecture 'ratings'; known: "):
        rating_run(tmp_path, architecture="ratings")


def test_its_results_are_those_of_its_own_metric(run: ExperimentRun, result: RunResult) -> None:
    assert read_result(run.results_file) == result
    assert set(result.metrics) >= {"test/rmse", "validation/rmse", "validation/epoch3/rmse", "epochs", "steps"}
    assert not any("accuracy" in name or "f1" in name for name in result.metrics)
    assert result.metrics["validation/epoch3/rmse"] < result.metrics["validation/epoch1/rmse"]
    assert (run.folder / "learning_curves.png").is_file()


def test_its_best_epoch_is_the_one_with_the_lowest_error(tmp_path: Path) -> None:
    # So high a rate overshoots: the last epoch is not the best.
    metrics = execute(rating_run(tmp_path, epochs=2, learning_rate=3.0)).metrics
    first, last = (metrics[f"validation/epoch{epoch}/rmse"] for epoch in (1, 2))
    assert first < last
    assert metrics["validation/rmse"] == pytest.approx(first)


def test_its_folder_is_whole_without_a_tokenizer_and_gives_the_same_ratings(
    run: ExperimentRun, result: RunResult
) -> None:
    names = check_checkpoint_folder(run.checkpoint)
    assert "architecture.py" in names
    assert not any("tokenizer" in name for name in names)
    content = json.loads((run.checkpoint / "config.json").read_text())
    assert content["auto_map"]["RatingForPairs"] == "architecture.RatingForPairs"
    loaded = AutoHead("rating").from_pretrained(str(run.checkpoint))
    assert isinstance(loaded, RatingForPairs)
    card = (run.checkpoint / "README.md").read_text(encoding="utf-8")
    assert "pipeline" not in card
    assert "| root of the mean squared error |" in card
    names_of_card: dict[str, object] = {}
    example, with_package, _ = python_blocks(card.replace("path/to/this/folder", str(run.checkpoint)))
    exec(example, names_of_card)
    users, items = (torch.tensor([names_of_card[name]]) for name in ("user", "item"))
    said = float(with_package.splitlines()[-1].removeprefix("# "))
    with torch.no_grad():
        assert loaded(users, items).ratings.item() == pytest.approx(said, abs=1e-4)


def test_its_checkpoint_is_refused_with_a_file_too_many(run: ExperimentRun, result: RunResult) -> None:
    (run.checkpoint / "tokenizer.json").write_text("{}")
    with pytest.raises(CheckpointFolderError, match=r"holds tokenizer\.json"):
        check_checkpoint_folder(run.checkpoint)


def test_commands(run: ExperimentRun, result: RunResult, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    checkpoint = str(run.checkpoint)
    assert main(["info", checkpoint]) == 0
    said = capsys.readouterr().out
    assert "RatingForPairs" in said
    assert "people: 8" in said
    assert main(["info", "rating"]) == 0
    assert "num_items" in capsys.readouterr().out
    file = tmp_path / "scores.json"
    assert main(["evaluate", checkpoint, "--dataset", "sample", "--output", str(file)]) == 0
    assert "root of the mean squared error" in capsys.readouterr().out
    assert json.loads(file.read_text())["metrics"]["rmse"] == pytest.approx(result.metrics["test/rmse"], rel=1e-5)
    assert main(["predict", checkpoint, "--user", "1", "--item", "2"]) == 0
    model = RatingForPairs.from_pretrained(checkpoint)
    with torch.no_grad():
        wanted = model(torch.tensor([1]), torch.tensor([2])).ratings.item()
    assert float(capsys.readouterr().out) == pytest.approx(wanted, abs=1e-4)
    assert main(["verify", checkpoint]) == 0
    capsys.readouterr()
    for options in (["--user", "1"], ["--user", "1", "--item", "2", "--output", str(file)]):
        assert main(["predict", checkpoint, *options]) == 2
        assert "give --user and --item; ratings read no --file" in capsys.readouterr().err


def test_options_of_other_problems_are_refused(
    run: ExperimentRun, result: RunResult, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["predict", str(run.checkpoint), "--question", "who?"]) == 2
    said = capsys.readouterr().err
    assert "--question: for question-answering, but" in said
    assert "does rating; it takes --user, --item" in said


def test_its_public_names_score_a_folder_and_a_model(run: ExperimentRun, result: RunResult) -> None:
    assert issubclass(rating_problem.RatingTask, ZooTask)
    scores = rating_problem.evaluate(run.checkpoint, "sample", progress=False)
    assert scores == {"rmse": pytest.approx(result.metrics["test/rmse"], rel=1e-5)}
    model = RatingForPairs.from_pretrained(str(run.checkpoint))
    assert rating_problem.evaluate(model, "sample", progress=False) == scores
    assert rating_problem.evaluate(model, "sample", "validation", progress=False) != scores


def test_a_problem_without_scores_is_refused(
    run: ExperimentRun, result: RunResult, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(Rating, "evaluate")
    assert main(["evaluate", str(run.checkpoint), "--dataset", "sample"]) == 2
    assert "does rating; evaluate takes checkpoints of question-answering, text-" in capsys.readouterr().err


def test_a_problem_without_pipeline_and_explanations_says_what_to_use(run: ExperimentRun, result: RunResult) -> None:
    with pytest.raises(ValueError, match=r"does rating, for which there is no pipeline; .* RatingForPairs\.from_pretr"):
        ctxzoo.pipeline(run.checkpoint)
    with pytest.raises(ValueError, match="does rating, which is not explained by words; expected a model of text-"):
        ctxzoo.explain(run.checkpoint, "a text")


def test_a_rate_that_follows_the_score_is_the_same_when_a_run_is_resumed(tmp_path: Path) -> None:
    # So high a rate overshoots, and is halved after the second epoch, where the first run ends.
    def rate(folder: Path) -> float:
        (last,) = folder.rglob("last.ckpt")
        state = torch.load(last, weights_only=True)
        found: float = state["optimizer_states"][0]["param_groups"][0]["lr"]
        return found

    learning = {"learning_rate": 3.0}
    whole = execute(rating_run(tmp_path / "whole", epochs=4, **learning))
    execute(rating_run(tmp_path / "halves", epochs=2, **learning))
    assert rate(tmp_path / "halves") == 1.5
    halves = execute(rating_run(tmp_path / "halves", epochs=4, **learning), resume=True)
    assert rate(tmp_path / "halves") == rate(tmp_path / "whole")
    for epoch in range(1, 5):
        name = f"validation/epoch{epoch}/rmse"
        assert halves.metrics[name] == whole.metrics[name]


def test_many_runs_print_its_metric(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = {"plain": [rating_run(tmp_path, seed=seed, epochs=1) for seed in range(2)]}
    outcomes = run_all(runs, "ratings", runs["plain"][0].experiment.run.copy_with({"processes": 1}))
    assert [one.seed for one in outcomes["plain"]] == [0, 1]
    said = capsys.readouterr().out
    assert "root of the mean squared" in " ".join(said.split())
    assert "accuracy" not in said
    assert "pipeline" not in said


def test_a_loss_that_is_no_number_names_its_rows(tmp_path: Path) -> None:
    with pytest.raises(NonFiniteLossError, match=r"learning rate \[1e\+30\]; rows \[16, 17, "):
        execute(rating_run(tmp_path, learning_rate=1e30))


def test_the_example_of_the_page_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tests.support.rating.run.registered_rating", nullcontext)  # the fixture has registered it
    (program,) = python_blocks(PAGE.read_text(encoding="utf-8"))
    exec(program, {})
    checkpoint = capsys.readouterr().out.splitlines()[-1]
    assert check_checkpoint_folder(Path(checkpoint))


def test_a_finished_run_is_kept(run: ExperimentRun, result: RunResult) -> None:
    assert execute(run, resume=True) == result


def test_it_is_known_by_the_name_that_its_head_says() -> None:
    assert get_card_of_head(RatingForPairs) is RATING is get_card("rating")
    assert get_problem("rating").has_command("predict")
    with pytest.raises(ValueError, match=r"unknown task 'rates'; ctxzoo knows question-answering, .*rating"):
        get_card("rates")


def test_heads_are_found_by_their_problem() -> None:
    assert isinstance(AutoHead("rating").from_config(RatingConfig()), RatingForPairs)
    with pytest.raises(ValueError, match="'ctxzoo_rating' has no head for voting"):
        AutoHead("voting").from_config(RatingConfig())
    with pytest.raises(ValueError, match="'bert' has no head for rating"):
        AutoHead("rating").from_config(AutoConfig.for_model("bert"))


def test_a_head_is_registered_under_an_auto_class_or_its_own_name() -> None:
    register_architecture(ToyConfig, load=lambda: {"AutoModelForRatings": TOY.model_classes["AutoModel"]})
    try:
        with pytest.raises(ValueError, match="'AutoModelForRatings' is neither an Auto class of transformers nor"):
            ARCHITECTURES["toy"]
        register_architecture(ToyConfig, load=dict)
        with pytest.raises(ValueError, match="ToyConfig: register a model of it"):
            ARCHITECTURES["toy"]
    finally:
        del ARCHITECTURES.loaders["toy"]
        ToyConfig.before_first_use = None


def test_a_file_of_ones_own_trains_evaluates_and_predicts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = [f"{row % 7},{row % 5},{1 + row % 7 * 0.5:g}" for row in range(105)]
    Path("mine.csv").write_text("\n".join(["user,item,rating", *lines]) + "\n", encoding="utf-8")
    assert main(["train", "rating", "--data", "mine.csv", "--epochs", "20", "--factors", "1"]) == 0
    said = capsys.readouterr().out
    assert "training rating plain with default settings" in said
    (folder,) = Path("runs/train_rating").glob("*/checkpoint")
    assert f"ctxzoo predict {folder}" in " ".join(said.split())
    # Seven people and five things; pairs that stand again are on one side.
    assert json.loads((folder / "config.json").read_text())["num_users"] == 7
    assert main(["predict", str(folder), "--user", "6", "--item", "0"]) == 0
    assert float(capsys.readouterr().out) == pytest.approx(4.0, abs=1.5)
    Path("bad.csv").write_text("user,item,rating\n0,0,3\n1,x,2\n", encoding="utf-8")
    assert main(["train", "rating", "--data", "bad.csv"]) == 2
    assert "bad.csv, row 1: item is 'x'; expected a whole number from 0" in capsys.readouterr().err
    assert main(["train", "rating", "--data", "mine.csv", "--settings", "paper"]) == 2
    assert "no settings of a paper for ratings; try --settings default" in capsys.readouterr().err
    assert main(["train", "rating", "--data", "mine.csv", "--factors", "0"]) == 2
    assert "factors=0: expected 1 or more" in capsys.readouterr().err
