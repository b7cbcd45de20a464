"""`Experiment`: how a training is written down, changed, compared and typed, for every problem that has experiments."""

from __future__ import annotations

import json
import os
import re
import shlex
import threading
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import yaml

from ctxzoo.cli.main import main
from ctxzoo.results.result import read_result, write_result_file
from ctxzoo.runs.command_line import CommandLine
from ctxzoo.runs.experiment import GROUPS, Experiment, describe_values
from ctxzoo.runs.own_data import parse_train_command
from ctxzoo.runs.problem import Problem
from ctxzoo.runs.train import SETTINGS_FILE, ExperimentRun
from ctxzoo.tasks.sequences.experiments import build_session_paper_experiment
from ctxzoo.tasks.sequences.problem import SESSION_RECOMMENDATION
from ctxzoo.tasks.text_classification.problem import TEXT_CLASSIFICATION
from recipes.citeulike_hcrnn import STUDY
from tests.support.own_trainings import each_problem
from tests.support.plain_run import PlainRun

DEFAULTS = Path(__file__).with_name("experiment_defaults.json")
WORDS = "fill-mask"  # whose compiled loops have neither batches nor another optimizer, and several threads with chance
BATCHES = {"regression": "rows_per_step", WORDS: "negative_samples"}  # how much a step has, where it is not batch_size
TYPED = {WORDS: {"schedule": "linear", "subsampling": 0.5, "threads": 1}}  # of others optimizer and momentum


def usual(problem: Problem) -> Experiment:
    return problem.get_settings("default", *problem.default)


@each_problem
def test_no_name_stands_in_two_groups(problem: Problem) -> None:
    names = [one.name for group in GROUPS for one in fields(getattr(usual(problem), group))]
    assert len(names) == len(set(names))
    assert not set(names) & {one.name for one in fields(Experiment) if one.name not in GROUPS}


@each_problem
def test_class_defaults_never_change(problem: Problem) -> None:
    """They stand for what results files lack, so that another default would make others of finished runs.

    A new name comes into the file with the value that says what was done before there was the name.
    """
    assert usual(problem).class_defaults() == json.loads(DEFAULTS.read_text())[problem.name]


@each_problem
def test_settings_are_complete_flat_and_survive_a_results_file(problem: Problem, tmp_path: Path) -> None:
    experiment = usual(problem).copy_with(learning_rate=0.0012345678901, recipe="trial", results_dir=str(tmp_path))
    settings = experiment.settings()
    assert set(settings) == set(experiment.class_defaults())
    assert json.loads(json.dumps(settings)) == settings
    result = PlainRun(experiment.copy_with(commit="0123abc")).build_result(
        metrics={"test/nll": 1.0}, parameters={"total": 1, "trainable": 1}, fingerprint="test 0", seconds=1.0
    )
    write_result_file(result, tmp_path / "x.json")
    assert read_result(tmp_path / "x.json").settings == settings  # no digit is lost


@each_problem
def test_values_that_cannot_be_are_refused_wherever_they_are_changed(problem: Problem) -> None:
    for changes, message in (
        ({"learning_rate": 0}, "learning_rate=0: expected more than 0"),
        ({"learning_rate": float("nan")}, "learning_rate=nan: expected more than 0"),
        ({"precision": "8"}, "precision='8': expected one of 32-true, bf16-mixed, 16-mixed, auto"),
        *([] if problem.name == WORDS else [({"optimizer": "adadelta", "warmup_steps": 3}, "adadelta keeps its rate")]),
        ({"seed": -1}, "seed=-1: expected 0 or more"),
        ({"score": "dev"}, "score='dev': expected one of test, validation"),
        ({"learning_rat": 1}, "has no setting learning_rat; it has .*learning_rate"),
    ):
        with pytest.raises(ValueError, match=message):
            usual(problem).copy_with(**changes)


@each_problem
def test_a_run_is_found_again_by_its_settings_alone(
    problem: Problem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A rate of more than six digits too; with another one it is another run."""
    monkeypatch.chdir(tmp_path)
    command = ["train", problem.name, "--data", "sample", "--tiny", "--learning_rate", "0.00123456789"]
    assert main(command) == 0
    capsys.readouterr()
    assert main([*command, "--resume"]) == 0
    assert "this training was finished before; its results are kept" in capsys.readouterr().out
    assert main([*command[:-1], "0.00123456788", "--resume"]) == 2  # it was not begun so
    assert "learning_rate=0.00123456789, not 0.00123456788" in capsys.readouterr().err


@each_problem
def test_the_yaml_of_a_run_starts_it_again_bit_for_bit(
    problem: Problem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    size = BATCHES.get(problem.name, "batch_size")
    own = TYPED.get(problem.name, {"optimizer": "sgd", "momentum": 0.5})
    typed = ["--data", "sample", "--tiny", "--seed", "3", "--settings", "paper", "--baselines", "no"]
    typed += [word for name, value in own.items() for word in (f"--{name}", str(value))]
    assert main(["train", problem.name, *typed, f"--{size}", "9"]) == 0
    (file,) = Path("runs").rglob(SETTINGS_FILE)
    assert main(["train", problem.name, "--config", str(file), "--output_dir", "again"]) == 0
    (first,), (second,) = (list(Path(folder).rglob("model.safetensors")) for folder in ("runs", "again"))
    assert first.read_bytes() == second.read_bytes()
    told = [read_result(next(Path(folder).rglob("*-seed3-*.json"))).settings for folder in ("runs", "again/results")]
    assert told[0] == told[1]
    assert {name: told[0][name] for name in own} == own
    assert told[0][size] == 9


def test_the_yaml_of_a_recipes_run_starts_it_again_bit_for_bit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("ctxzoo.runs.many.run_in_processes", in_this_process)
    STUDY.run(
        [
            "--dataset",
            "sample",
            "--models",
            "hcrnn1",
            "hcrnn2",
            "--seeds",
            "4",
            "--tiny",
            "--name",
            "mine",
            "--learning_rate",
            "0.01",
        ]
    )
    files = sorted(Path("runs").rglob(SETTINGS_FILE))
    assert len(files) == 2
    STUDY.run([str(files[1]), "--output_dir", "again", "--results_dir", "again/results"])
    (second,) = Path("again").rglob("model.safetensors")
    first = files[1].parent / "checkpoint" / "model.safetensors"
    assert first.read_bytes() == second.read_bytes()
    assert second.parents[1].name == first.parents[1].name == "hcrnn2-sample-test-seed4-mine"


def in_this_process(work: Any, jobs: Any, *_: Any) -> Any:
    return [(run, work(run)) for run in jobs]


def parsed(*words: str) -> CommandLine:
    return STUDY.build_parser().parse(words)


def test_options_are_typed_short_with_their_group_or_in_yaml(tmp_path: Path) -> None:
    file = tmp_path / "settings.yaml"
    file.write_text("learning_rate: 0.5\nmodels: [hcrnn1, hcrnn2]\noptimizer:\n  weight_decay: 0.25\nthreads: null\n")
    line = parsed(str(file), "--optimizer.learning_rate", "2e-3", "--no_progress", "--tiny", "--seeds", "1", "2")
    experiment = line.experiment
    assert (experiment.optimizer.learning_rate, experiment.optimizer.weight_decay) == (0.002, 0.25)
    assert (experiment.run.progress, experiment.trainer.tiny, experiment.run.threads) == (False, True, 1)
    assert line.several == {"dataset": ["citeulike"], "models": ["hcrnn1", "hcrnn2"], "seeds": [1, 2]}
    assert {"learning_rate", "weight_decay", "models", "seeds", "tiny", "progress"} <= line.typed
    assert "epochs" not in line.typed
    flags = [parsed(*words).experiment.model.values()["sigmoid_scores"] for words in ((), ("--no_sigmoid_scores",))]
    assert flags == [None, False]
    assert parsed("--sigmoid_scores", "--tiny").experiment.model.values()["sigmoid_scores"] is True
    old = parsed("--optimiser=sgd", "--results-dir", "here", "--progress", "no")
    assert (old.experiment.optimizer.optimizer, old.experiment.run.results_dir) == ("sgd", "here")
    assert not old.experiment.run.progress


def test_a_change_reaches_its_group_and_leaves_the_experiment() -> None:
    changed = STUDY.base.copy_with(max_length=7, epochs=3)
    assert (changed.data.values()["max_length"], changed.trainer.epochs) == (7, 3)
    assert (changed.model, changed.optimizer, changed.run) == (STUDY.base.model, STUDY.base.optimizer, STUDY.base.run)
    assert STUDY.base.copy_with() == STUDY.base != changed


def test_settings_for_a_person() -> None:
    settings = STUDY.base.copy_with(learning_rate=1e-3, decay=True).settings()
    assert describe_values(settings, ("learning_rate", "decay")) == "learning_rate 0.001, decay True"


def test_another_optimizer_leaves_the_momentum_behind() -> None:
    base = STUDY.base.copy_with(optimizer="sgd", momentum=0.95)
    assert base.copy_with(optimizer="adam").optimizer.momentum is None
    assert base.copy_with(optimizer="sgd").optimizer.momentum == 0.95
    with pytest.raises(ValueError, match=r"momentum=0\.9 belongs to sgd"):
        base.copy_with(optimizer="adam", momentum=0.9)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--drift_constraint", "soft"), "drift_constraint='soft': expected one of clip, softplus"),
        (("--precision", "8"), "precision='8': expected one of 32-true, bf16-mixed, 16-mixed, auto"),
        (("--learning_rate", "fast"), "learning_rate=fast: expected a number"),
        (("--epochs", "1.5"), "epochs=1.5: expected a whole number"),
        (("--tiny=perhaps",), "tiny=perhaps: expected true or false"),
        (("--nothing", "3"), "unrecognized arguments: --nothing 3"),
        (("nowhere.yaml",), "No such file"),
        (("--config",), "--config: expected a YAML file behind it"),
    ],
)
def test_what_cannot_be_is_one_line_before_anything_is_read(words: tuple[str, ...], message: str) -> None:
    with pytest.raises((ValueError, OSError)) as raised:
        parsed(*words)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


@each_problem
def test_a_yaml_may_come_through_a_pipe(problem: Problem, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=("epochs: 7\n",), daemon=True)
    writer.start()
    line = parse_train_command(problem, ["--data", "rows.csv", "--config", str(pipe)])
    writer.join()
    assert line.experiment.trainer.epochs == 7


def test_a_yaml_that_is_none_is_told(tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    for text, message in (("- 1\n", r"holds \[1\]; expected settings by name"), ("a: [", "x.yaml is not YAML")):
        file.write_text(text)
        with pytest.raises(ValueError, match=message):
            parsed("--config", str(file))


@each_problem
def test_what_is_printed_as_configuration_is_read_again(
    problem: Problem, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    typed = ["--data", "rows.csv", "--epochs", "7", "--skip_bad", "--language", "en", "de"]
    with pytest.raises(SystemExit) as stopped:
        parse_train_command(problem, [*typed, "--print_config"])
    printed = capsys.readouterr().out
    assert not stopped.value.code
    assert yaml.safe_load(printed)["trainer"]["epochs"] == 7
    (tmp_path / "x.yaml").write_text(printed)
    again, first = (
        parse_train_command(problem, ["--config", str(tmp_path / "x.yaml")]),
        parse_train_command(problem, typed),
    )
    assert again.experiment == first.experiment
    assert again.several == first.several


@pytest.mark.parametrize("words", [("--text_column", "body"), ("--text_column=body",), ('--text_column=["body"]',)])
def test_one_value_of_a_list_may_stand_behind_an_equals_sign(words: tuple[str, ...]) -> None:
    experiment = parse_train_command(TEXT_CLASSIFICATION, ["--data", "rows.csv", *words]).experiment
    assert experiment.data.values()["text_column"] == ("body",)
    assert parse_train_command(TEXT_CLASSIFICATION, ["--data", "rows.csv", "--text_column=null"]).experiment == (
        parse_train_command(TEXT_CLASSIFICATION, ["--data", "rows.csv"]).experiment
    )


def test_help_shows_what_people_type_and_all_of_it_the_rest(capsys: pytest.CaptureFixture[str]) -> None:
    for words, is_there in ((["--help"], False), (["--help", "all"], True)):
        with pytest.raises(SystemExit):
            parse_train_command(SESSION_RECOMMENDATION, words)
        text = capsys.readouterr().out
        assert text.startswith("usage: ctxzoo train session-recommendation --data DATA [options]\n")
        for option in ("--data DATA", "--learning_rate", "--hidden_size", "--tune", "--config"):
            assert f"\n  {option}" in text
        assert ("\n  --halve_after" in text) == is_there
        assert "--optimizer." not in text
        assert "required" not in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "the following arguments are required: --data"),
        (
            ("--data", "x.csv", "--num_heads", "2"),
            "unrecognized arguments: --num_heads 2; --num_heads is for .*next",
        ),
        (("--data", "x.csv", "--architecture", "lama"), "unknown --architecture 'lama'; for session recommendation: "),
        (("--data", "x.csv", "--variant", "hcrnn9"), "unknown --variant 'hcrnn9'; hcrnn has hcrnn1, "),
        (
            ("--data", "x.csv", "--architecture", "session_baseline", "--num_topics", "3"),
            "session_baseline gru4rec has no setting num_topics; it has .*hidden_size.*",
        ),
    ],
)
def test_what_ctxzoo_train_does_not_take_is_one_line(
    words: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", "session-recommendation", *words]) == 2
    error = capsys.readouterr().err
    assert re.search(message, error), error
    assert len(error.strip().splitlines()) == 1


@each_problem
def test_a_search_leaves_what_was_typed_and_the_best_goes_on(
    problem: Problem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    size = BATCHES.get(problem.name, "batch_size")
    command = f"train {problem.name} --data sample --tiny --tune 0.05 --{size} 7"
    assert main(shlex.split(command)) == 0
    said = capsys.readouterr().out
    assert "trial 0: the settings as they are: validation" in said
    trials = [read_result(file) for file in Path("runs/results/trials").rglob("*.json")]
    assert trials
    assert {one.settings[size] for one in trials} == {7}
    assert {one.split for one in trials} == {"validation"}
    (kept,) = Path("runs/results").glob("train_*/*-tuned-*.json")
    assert read_result(kept).split == "test"


def test_a_checkpoint_goes_on_with_its_own_fields(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["train", "session-recommendation", "--data", "sample", "--tiny"]) == 0
    (checkpoint,) = Path("runs").rglob("checkpoint")
    line = parse_train_command(SESSION_RECOMMENDATION, ["--data", "sample", "--init_from", str(checkpoint)])
    assert line.experiment.model.get_config_changes() == {}
    assert PlainRun(line.experiment).variant == "continued"
    with pytest.raises(ValueError, match="hcrnn continued has no setting hidden_size"):
        parse_train_command(
            SESSION_RECOMMENDATION, ["--data", "sample", "--init_from", str(checkpoint), "--hidden_size", "9"]
        )
    with pytest.raises(ValueError, match="leave --architecture and --variant out, it says them"):
        parse_train_command(SESSION_RECOMMENDATION, ["--init_from", str(checkpoint), "--variant", "hcrnn1"])


def test_numbers_of_processes_tell_runs_apart(tmp_path: Path) -> None:
    experiment = build_session_paper_experiment("hcrnn", "hcrnn1").copy_with(
        recipe="trial", accelerator="cpu", results_dir=str(tmp_path), output_dir=str(tmp_path)
    )
    one, two = (ExperimentRun(SESSION_RECOMMENDATION, experiment.copy_with(devices=number)) for number in ("1", "2"))
    assert (one.settings["world_size"], two.settings["world_size"]) == (1, 2)
    assert one.results_file == two.results_file
    assert one.settings != two.settings
