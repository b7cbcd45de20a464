"""The recipe as a person runs it: in a process of its own, on the generated sample."""

from __future__ import annotations

import json
import os
import shlex
import shutil
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ctxzoo.models.configuration_bidaf import EXTENSIONS, BidafConfig
from ctxzoo.models.layers_bidaf import trilinear_init_bound
from ctxzoo.results.result import RESULTS_DIR, RunResult, read_result, read_results
from ctxzoo.runs.experiment import Experiment
from ctxzoo.tasks.question_answering import bidaf_start
from ctxzoo.tasks.question_answering.bidaf_start import BidafCheckpoint, read_bidaf_checkpoint
from ctxzoo.tasks.question_answering.data import SquadDataModule
from ctxzoo.tasks.question_answering.experiments import build_paper_experiment, describe_differences
from ctxzoo.tasks.question_answering.problem import QUESTION_ANSWERING
from ctxzoo.tasks.question_answering.sample import sample_squad
from ctxzoo.tasks.question_answering.task import evaluate
from recipes.squad_bidaf import STUDY
from tests.support import recipe_process
from tests.support.recipe_here import recipe_here
from tests.support.subprocesses import REPOSITORY_ROOT
from tests.support.tiny_checkpoint import write_tiny
from tests.support.warm_python import WITHOUT_HUB, run_warm

TINY = ("--dataset", "sample", "--tiny", "--progress", "false", "--precision", "32-true")


recipe = partial(recipe_process.recipe, name="squad_bidaf")


def only_run(folder: Path) -> Path:
    (run,) = (folder / "runs" / "squad_bidaf").iterdir()
    return run


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("recipe")
    run = recipe(folder, *TINY)
    assert run.returncode == 0, run.stdout + run.stderr
    return folder, run.stdout


def test_it_writes_results_figures_and_a_checkpoint_folder(finished: tuple[Path, str]) -> None:
    folder, _ = finished
    (result,) = read_results(folder / RESULTS_DIR)
    assert (result.recipe, result.architecture, result.variant) == ("squad_bidaf", "bidaf", "learned_char7")
    assert result.dataset == "sample"
    assert result.settings["squad_version"] == "2.0"
    assert result.metrics["epochs"] == 1
    assert 0 <= result.metrics["validation/epoch1/span_f1"] <= 100
    assert result.wall_seconds > 0
    for name in ("learning_curves.png", "attention.png"):
        assert (only_run(folder) / name).read_bytes().startswith(b"\x89PNG")
    names = {path.name for path in (only_run(folder) / "checkpoint").iterdir()}
    assert {"config.json", "model.safetensors", "tokenizer.json", "README.md", "modeling_bidaf.py"} <= names


def test_it_prints_how_to_load_and_one_answer(finished: tuple[Path, str]) -> None:
    folder, printed = finished
    assert "trust_remote_code=True" in printed
    assert str(only_run(folder) / "checkpoint") in printed
    assert "question: " in printed
    assert "answer: " in printed


def test_the_tuned_threshold_is_saved_and_comes_from_validation(finished: tuple[Path, str]) -> None:
    folder, _ = finished
    (result,) = read_results(folder / RESULTS_DIR)
    config = json.loads((only_run(folder) / "checkpoint" / "config.json").read_text())
    assert config["no_answer_threshold"] == pytest.approx(result.metrics["validation/best_f1_thresh"], rel=1e-5)


def test_evaluate_reproduces_the_number_of_the_recipe(finished: tuple[Path, str]) -> None:
    folder, _ = finished
    (result,) = read_results(folder / RESULTS_DIR)
    checkpoint = only_run(folder) / "checkpoint"
    scores = evaluate(str(checkpoint), "sample", progress=False, cache_dir=str(folder / "cache"))
    for name in ("exact", "f1", "AvNA", "nll", "f1_at_threshold"):
        assert scores[name] == pytest.approx(result.metrics[f"test/{name}"], rel=1e-4), name


@pytest.mark.slow
def test_choices_on_validation_leave_the_test_split_alone(tmp_path: Path) -> None:
    changed = ("--dropout", "0.3", "--pool_batches", "1")
    run = recipe(tmp_path, *TINY, "--variant", "baseline", "--score", "validation", *changed)
    assert run.returncode == 0, run.stdout + run.stderr
    (result,) = read_results(tmp_path / RESULTS_DIR)
    assert result.split == "validation"
    assert "validation/f1_at_threshold" in result.metrics
    assert not [name for name in result.metrics if name.startswith("test/")]
    assert (result.settings["dropout"], result.settings["pool_batches"]) == (0.3, 1)
    (path,) = (tmp_path / RESULTS_DIR / "squad_bidaf").iterdir()
    assert path.name == "baseline-sample-validation-seed224-dropout_0.3-pool_batches_1.json"
    assert only_run(tmp_path).name == "baseline-dropout_0.3-pool_batches_1-sample-seed224"
    assert json.loads((only_run(tmp_path) / "checkpoint" / "config.json").read_text())["dropout"] == 0.3
    data = SquadDataModule("sample", cache_dir=str(tmp_path / "cache"))
    data.setup()
    (asked,) = (line.removeprefix("question: ") for line in run.stdout.splitlines() if line.startswith("question: "))
    assert asked in data.texts("validation")["question"]
    card = (only_run(tmp_path) / "checkpoint" / "README.md").read_text()
    assert "validation, this checkpoint" in card
    assert "test, this checkpoint" not in card


def test_an_unknown_split_to_score_stops_it_before_training(tmp_path: Path) -> None:
    run = recipe_here(tmp_path, *TINY, "--score", "dev", name="squad_bidaf")
    assert run.returncode != 0
    assert "score='dev': expected one of test, validation" in run.stderr
    assert not (tmp_path / "runs").exists()


def test_results_say_how_batches_were_made_and_where_the_similarity_began(finished: tuple[Path, str]) -> None:
    folder, _ = finished
    (result,) = read_results(folder / RESULTS_DIR)
    assert result.split == "test"
    assert result.settings["pool_batches"] == 50
    assert result.settings["product_start"] == pytest.approx(trilinear_init_bound(16), rel=1e-4)


@pytest.mark.slow
def test_data_that_cannot_be_reached_stops_it_with_the_way_out(tmp_path: Path) -> None:
    run = recipe(tmp_path, CTXZOO_DATA=str(tmp_path / "nothing"))
    assert run.returncode != 0
    assert "Traceback" not in run.stderr
    for word in ("rajpurkar/squad_v2", "(or set --dataset to sample", "(or set --data_dir)"):
        assert word in run.stderr


@pytest.mark.slow
def test_resume_without_a_run_starts_and_says_so_and_with_one_of_other_settings_stops(tmp_path: Path) -> None:
    resumed = (*TINY, "--resume", "--variant", "baseline", "--name", "one")
    run = recipe(tmp_path, *resumed)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "nothing to resume" in run.stdout
    (results,) = (tmp_path / "runs" / "results").rglob("*.json")
    before = results.read_bytes()
    run = recipe(tmp_path, *resumed, "--learning_rate", "0.25", "--batch_size", "32")
    assert run.returncode != 0
    assert "Traceback" not in run.stderr
    assert "batch_size=64, not 32; learning_rate=0.5, not 0.25" in run.stderr
    assert results.read_bytes() == before


@pytest.mark.usefixtures("small_sample")
def test_an_output_that_cannot_be_written_stops_it_before_training(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("a file where the folder should be")
    run = recipe_here(tmp_path, *TINY, name="squad_bidaf")
    assert run.returncode != 0
    assert "cannot write to" in run.stderr
    assert "Traceback" not in run.stderr
    assert not (tmp_path / RESULTS_DIR / "squad_bidaf").exists()


def test_an_unknown_monitor_stops_it_before_training(tmp_path: Path) -> None:
    run = recipe_here(tmp_path, *TINY, "--monitor", "F1", name="squad_bidaf")
    assert run.returncode != 0
    assert "monitor='F1': expected one of f1, exact, span_f1" in run.stderr
    assert "Traceback" not in run.stderr
    assert not (tmp_path / "runs").exists()


@pytest.mark.slow
def test_a_training_that_goes_on_is_named_after_its_checkpoint(finished: tuple[Path, str], tmp_path: Path) -> None:
    run = only_run(finished[0])
    # As if the checkpoint had seen longer texts than the sample has.
    start = Path(shutil.copytree(run / "checkpoint", tmp_path / "start" / run.name / "checkpoint"))
    content = json.loads((start / "config.json").read_text())
    assert 10 < content["trained_positions"] < 400
    (start / "config.json").write_text(json.dumps({**content, "trained_positions": 400}))
    more = recipe(tmp_path, *TINY, "--init_from", str(start), "--name", "more")
    assert more.returncode == 0, more.stdout + more.stderr
    assert json.loads((only_run(tmp_path) / "checkpoint" / "config.json").read_text())["trained_positions"] == 400
    (result,) = read_results(tmp_path / RESULTS_DIR)
    assert (result.variant, result.settings["extensions"]) == ("learned_char7", [])
    assert (result.settings["init_from"], result.settings["word_vectors"]) == (run.name, "learned")
    assert result.settings["query_to_context"] == "coattention"
    assert result.settings["hidden_size"] == content["hidden_size"]


def found_out(*options: str) -> Experiment:
    """What the recipe would train, without the defaults that its files are named by."""
    return QUESTION_ANSWERING.fill_in_settings(STUDY.build_parser().parse(["--dataset", "sample", *options]).experiment)


@pytest.mark.usefixtures("small_sample")
def test_what_a_checkpoint_has_is_told(tmp_path: Path) -> None:
    checkpoint = str(write_tiny(tmp_path / "tiny", dropout=0.3, context_self_attention=True, query_to_context="max"))
    experiment = found_out("--init_from", checkpoint, "--train_source", "v2")
    told = experiment.settings()
    assert (told["hidden_size"], told["dropout"]) == (8, 0.3) != (build_paper_experiment().values()["hidden_size"], 0.2)
    assert (experiment.model.variant, told["extensions"], told["query_to_context"]) == (
        "learned_char3",
        ["context_self_attention"],
        "max",
    )
    assert (told["finish_source"], told["train_source"], told["product_start"]) == ("v2", None, None)
    assert (told["squad_version"], told["word_vectors"]) == ("2.0", "of the checkpoint")
    assert describe_differences(experiment) == "context_self_attention-max-finish_v2"
    assert QUESTION_ANSWERING.fill_in_settings(experiment) == experiment


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--variant baseline", "variant='baseline' beside init_from="),
        ("--extensions word_features", r"extensions=\['word_features'\] beside init_from="),
        ("--query_to_context max", "query_to_context='max' beside init_from="),
        ("--hidden_size 128", "hidden_size=128 beside init_from="),
        ("--dropout 0.3", r"dropout=0\.3 beside init_from="),
        ("--char_channels 7", "char_channels=7 beside init_from="),
        ("--word_embedding_size 7", "word_embedding_size=7 beside init_from="),
        ("--word_vectors vectors.txt", "word_vectors='vectors.txt' beside init_from="),
    ],
)
def test_what_contradicts_the_checkpoint_is_refused(tmp_path: Path, option: str, message: str) -> None:
    checkpoint = str(write_tiny(tmp_path / "tiny"))
    with pytest.raises(ValueError, match=message):
        STUDY.run(["--dataset", "nowhere", "--init_from", checkpoint, *option.split()])


@pytest.mark.usefixtures("small_sample")
def test_a_new_reader_is_as_wide_and_as_dropped_out_as_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CTXZOO_CACHE", str(tmp_path))
    data = SquadDataModule("sample", word_embedding_size=16)
    data.setup()
    for options, expected in (
        (("--hidden_size", "24", "--dropout", "0.3"), (24, 0.3)),
        ((), (BidafConfig().hidden_size, BidafConfig().dropout)),
    ):
        experiment = found_out("--variant", "baseline", *options)
        config = BidafConfig.from_dict(QUESTION_ANSWERING.build_model_config(experiment, data))
        assert (config.hidden_size, config.dropout) == expected


@pytest.mark.usefixtures("small_sample")
def test_a_reader_of_squad_1_does_not_go_on_with_unanswerable_questions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint = str(write_tiny(tmp_path / "tiny", squad_version="1.1"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CTXZOO_CACHE", str(tmp_path / "cache"))
    with pytest.raises(ValueError, match=r"tiny reads SQuAD 1.1, and sample is SQuAD 2.0; say --squad_version"):
        STUDY.run(["--dataset", "sample", "--init_from", checkpoint, "--no_progress"])


@pytest.mark.usefixtures("small_sample")
def test_the_checkpoint_to_go_on_from_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "start"
    (write_tiny(folder, train_word_embeddings=True) / "README.md").unlink()
    read = []
    monkeypatch.setattr(
        bidaf_start,
        "read_bidaf_checkpoint",
        lambda path, **how: read.append(path) or read_bidaf_checkpoint(path, **how),
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CTXZOO_CACHE", str(tmp_path / "cache"))
    STUDY.run([*TINY, "--init_from", str(folder), "--seeds", "1", "2", "--accelerator", "cpu"])
    assert read == [str(folder)]
    assert [one.settings["word_vectors"] for one in read_results(tmp_path / RESULTS_DIR)] == ["learned"] * 2


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--extensions foo", "extensions='foo': expected one of context_self_attention"),
        ("--levers foo", "extensions='foo': expected one of context_self_attention"),
        (
            "--extensions no_answer_head",
            "no_answer_head=True: BidafConfig has no such field any more, .* ctxzoo 0.1.0",
        ),
        ("--variant foo", "variant='foo': expected one of baseline"),
        ("--query_to_context foo", "query_to_context='foo': expected one of coattention, max"),
    ],
)
def test_unknown_names_are_refused_at_once(option: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        STUDY.run(["--dataset", "nowhere", *option.split()])


def test_recorded_commands_would_repeat_no_run_but_of_the_earlier_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that lie beside the repository are as the results tell them.

    Results without `product_start`, or with that of then, are of another code, and so are those of extensions that are
    gone; two name word vectors beside a checkpoint, which is refused today.
    """
    now: RunResult

    def begun(path: str, **_: Any) -> BidafCheckpoint:
        told = {name: now.settings[name] for name in ("query_to_context", "squad_version", "word_vectors")}
        return BidafCheckpoint(
            variant=now.variant, extensions=tuple(now.settings["extensions"]), hidden_size=100, dropout=0.3, **told
        )

    monkeypatch.setattr(bidaf_start, "read_bidaf_checkpoint", begun)
    vectors = "ctxzoo.word_vectors.vectors"
    monkeypatch.setattr(f"{vectors}.get_word_vectors_name", lambda _: now.settings["word_vectors"])
    monkeypatch.setattr(f"{vectors}.fingerprint_word_vectors", lambda _: now.settings.get("vectors_fingerprint"))
    monkeypatch.setattr("ctxzoo.runs.experiment.get_public_checkpoint_name", lambda path: Path(path).parent.name)
    monkeypatch.setattr(SquadDataModule, "squad_version", property(lambda _: now.settings["squad_version"]))
    monkeypatch.setattr("ctxzoo.tasks.question_answering.data.AutoTokenizer.from_pretrained", lambda _: None)
    monkeypatch.setattr("ctxzoo.tasks.question_answering.data.locate_checkpoint", lambda name: name)
    asked: dict[Path, RunResult | None] = {}
    monkeypatch.setattr(
        "recipes.squad_bidaf.execute", lambda run, **_: asked.update({run.results_file: run.read_finished_result()})
    )
    refused, repeated = [], []
    for folder in ("results", "results/trials"):
        for file in sorted((REPOSITORY_ROOT / folder / "squad_bidaf").glob("*.json")):
            now = read_result(file)
            command, _, more = now.command.partition(" && ")
            if more:  # a reader that was made small
                continue
            asked.clear()
            try:
                STUDY.run([*shlex.split(command)[2:], "--results_dir", str(REPOSITORY_ROOT / folder)])
            except ValueError as error:
                refused.append(str(error).partition("=")[0])
                continue
            assert file in asked
            if asked[file] != now:
                repeated.append(now)
    assert sorted(refused) == ["condition_end_on_start", "no_answer_head", "variational_dropout", *["word_vectors"] * 2]
    assert {one.settings.get("product_start", 0.172774) for one in repeated} == {0.172774}
    assert len(repeated) == 19


def test_data_without_validation_is_refused_before_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "small").mkdir()
    splits = sample_squad(train=40, validation=20, test=20)
    for name in ("train", "test"):
        splits[name].to_parquet(str(tmp_path / "small" / f"{name}.parquet"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CTXZOO_CACHE", str(tmp_path / "cache"))
    with pytest.raises(ValueError, match=r"no split 'validation'; it has \['test', 'train'\]"):
        STUDY.run(["--dataset", "small", "--variant", "baseline", "--tiny", "--no_progress", "--accelerator", "cpu"])
    assert not list(tmp_path.rglob("*.ckpt"))


def test_a_source_left_out_is_scored_beside_the_test_split(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "small").mkdir()
    for name, rows in sample_squad(train=200, validation=20, test=20).items():
        sources = ["wiki" if place % 4 else "talk" for place in range(len(rows))]
        rows.add_column("source", sources).to_parquet(str(tmp_path / "small" / f"{name}.parquet"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CTXZOO_CACHE", str(tmp_path / "cache"))
    told = "--dataset small --left_out_source talk --variant baseline --tiny --no_progress --accelerator cpu"
    STUDY.run(told.split())
    (result,) = read_results(tmp_path / RESULTS_DIR)
    assert result.settings["left_out_source"] == "talk"
    assert {"left_out/f1", "test/f1"} <= set(result.metrics)
    assert result.tag == "without_talk"
    STUDY.run([*told.split(), "--score", "validation"])
    (trial,) = (one for one in read_results(tmp_path / RESULTS_DIR) if one.split == "validation")
    assert not [name for name in trial.metrics if name.startswith(("left_out/", "test/"))]


@pytest.mark.slow
def test_every_variant_runs(tmp_path: Path) -> None:
    """In one process: what a recipe imports takes longer than such a training."""
    variants = sorted(set(BidafConfig.variants) - {"learned_char7", "baseline"})
    code = f"""
        from recipes.squad_bidaf import STUDY
        for variant in {variants}:
            STUDY.run(["--variant", variant, *{TINY}])
    """
    run_warm(code, env={**os.environ, **WITHOUT_HUB, "PYTHONPATH": str(REPOSITORY_ROOT)}, cwd=tmp_path)
    assert sorted(one.variant for one in read_results(tmp_path / RESULTS_DIR)) == variants


@pytest.mark.slow
def test_all_levers_run_for_two_seeds_and_training_goes_on_from_the_checkpoint(tmp_path: Path) -> None:
    run = recipe(tmp_path, *TINY, "--extensions", *EXTENSIONS, "--seeds", "1", "2", "--query_to_context", "max")
    assert run.returncode == 0, run.stdout + run.stderr
    assert [result.seed for result in read_results(tmp_path / RESULTS_DIR)] == [1, 2]
    checkpoint = next((tmp_path / "runs" / "squad_bidaf").iterdir()) / "checkpoint"
    schedule = ("--optimizer", "adamw", "--learning_rate", "0.01", "--warmup_steps", "2", "--decay")
    schedule += ("--monitor", "no_answer_auc")
    more = recipe(
        tmp_path, *TINY, "--extensions", *EXTENSIONS, "--init_from", str(checkpoint), "--seeds", "1", *schedule
    )
    assert more.returncode == 0, more.stdout + more.stderr
    # Neither the folder nor the results file of the run it goes on from is replaced.
    results = read_results(tmp_path / RESULTS_DIR)
    assert sorted((result.seed, result.settings.get("decay", False)) for result in results) == [
        (1, False),
        (1, True),
        (2, False),
    ]
    assert len(list((tmp_path / "runs" / "squad_bidaf").iterdir())) == 3
