"""A language model from its training to what a user does with it."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from ctxzoo.cli.main import main
from ctxzoo.hub.folder_checks import build_meta_model, check_checkpoint_folder
from ctxzoo.models.configuration_beta_lstm import BetaLstmConfig
from ctxzoo.models.modeling_beta_lstm import BetaLstmForCausalLM
from ctxzoo.results.result import RunResult
from ctxzoo.runs.run import execute
from ctxzoo.runs.train import ExperimentRun
from ctxzoo.tasks.language_modelling import continue_text, evaluate
from ctxzoo.tasks.language_modelling.experiments import CELLS, build_paper_experiment, set_cell
from ctxzoo.tasks.language_modelling.problem import LANGUAGE_MODELLING
from tests.hub.test_card import python_blocks
from tests.support.own_trainings import config_of

PROMPT = "the old farmers"


def run(folder: Path, cell: str = "lstm", epochs: int = 1, **changes) -> ExperimentRun:
    small = {
        "hidden_size": 12,
        "word_dim": 12,
        "batch_size": 10,
        "bptt": 20,
        "optimizer": "adam",
        "learning_rate": 2e-3,
    }
    experiment = build_paper_experiment().copy_with(
        recipe="trial",
        dataset="sample",
        epochs=epochs,
        **{**small, **changes},
        output_dir=str(folder / "runs"),
        results_dir=str(folder / "results"),
        commit="0123abc",
        progress=False,
        tensorboard=False,
        accelerator="cpu",
    )
    return ExperimentRun(LANGUAGE_MODELLING, set_cell(experiment, cell))


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[ExperimentRun, RunResult]:
    one = run(tmp_path_factory.mktemp("text"), epochs=3, learning_rate=0.03, dropout=0.0, locked_dropout=0.0)
    return one, execute(one)


def test_it_learns_and_leaves_its_scores(finished: tuple[ExperimentRun, RunResult]) -> None:
    one, result = finished
    metrics = result.metrics
    assert metrics["validation/epoch3/perplexity"] < metrics["validation/epoch1/perplexity"] < 60.0
    assert metrics["test/perplexity"] < 10
    assert metrics["test/perplexity"] == pytest.approx(math.exp(metrics["test/nll"]), rel=1e-4)
    assert metrics["test/unknown_words"] == 0.0
    assert metrics["steps"] == 3 * math.ceil(words_of_training(one) // 10 / 20)
    assert (one.folder / "learning_curves.png").read_bytes()[:4] == b"\x89PNG"


def words_of_training(one: ExperimentRun) -> int:
    data = one.build_data()
    data.setup()
    return len(data.stream("train"))


def test_a_checkpoint_scores_as_its_run_did(finished: tuple[ExperimentRun, RunResult]) -> None:
    one, result = finished
    scores = evaluate(one.checkpoint, "sample", progress=False, accelerator="cpu", batch_size=50)
    assert scores["perplexity"] == pytest.approx(result.metrics["test/perplexity"], rel=1e-4)
    model = AutoModelForCausalLM.from_pretrained(one.checkpoint)
    with pytest.raises(ValueError, match="was given without its tokenizer"):
        evaluate(model, "sample", progress=False)


def test_its_checkpoint_generates_until_the_end_mark(finished: tuple[ExperimentRun, RunResult]) -> None:
    checkpoint = finished[0].checkpoint
    names = check_checkpoint_folder(checkpoint)
    assert "generation_config.json" not in names
    model, tokenizer = (kind.from_pretrained(checkpoint) for kind in (AutoModelForCausalLM, AutoTokenizer))
    assert model.generation_config.eos_token_id == tokenizer.eos_token_id
    ids = torch.tensor([[tokenizer.eos_token_id, *tokenizer(PROMPT)["input_ids"]]])
    found = model.generate(ids, max_new_tokens=60, do_sample=False)[0]
    assert int(found[-1]) == tokenizer.eos_token_id
    words = tokenizer.decode(found, skip_special_tokens=True)
    assert words == f"{PROMPT} {continue_text(model, tokenizer, PROMPT, 60, temperature=None)}"
    assert words.endswith(".")


def test_the_program_of_its_card_runs(
    finished: tuple[ExperimentRun, RunResult], capsys: pytest.CaptureFixture[str]
) -> None:
    checkpoint = finished[0].checkpoint
    card = (checkpoint / "README.md").read_text(encoding="utf-8").replace("path/to/this/folder", str(checkpoint))
    example, with_package, _ = python_blocks(card)
    names: dict[str, object] = {}
    exec(example, names)
    exec(with_package, names)
    assert capsys.readouterr().out.strip() == with_package.splitlines()[-1].removeprefix("# ")
    assert "| perplexity |" in card


def test_commands(
    finished: tuple[ExperimentRun, RunResult], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, result = finished
    checkpoint = str(one.checkpoint)
    assert main(["verify", checkpoint]) == 0
    assert main(["info", checkpoint]) == 0
    assert "words: " in capsys.readouterr().out
    scores = tmp_path / "scores.json"
    assert main(["evaluate", checkpoint, "--dataset", "sample", "--output", str(scores)]) == 0
    assert json.loads(scores.read_text())["metrics"]["perplexity"] == pytest.approx(
        result.metrics["test/perplexity"], rel=1e-4
    )
    capsys.readouterr()
    said = []
    for seed in ("1", "1", "2"):
        assert main(["predict", checkpoint, "--text", PROMPT, "--words", "5", "--draw_seed", seed]) == 0
        said.append(capsys.readouterr().out.strip())
    assert said[0] == said[1]
    assert said[0].startswith(f"{PROMPT} ")
    prompts, out = tmp_path / "prompts.txt", tmp_path / "out.json"
    prompts.write_text(f"{PROMPT}\na baker\n")
    command = ["predict", checkpoint, "--file", str(prompts), "--output", str(out), "--words", "5", "--draw_seed", "1"]
    assert main(command) == 0
    content = json.loads(out.read_text())
    assert [pair["prompt"] for pair in content] == [PROMPT, "a baker"]
    assert f"{PROMPT} {content[0]['continuation']}" == said[0]
    table, rows = tmp_path / "prompts.csv", tmp_path / "out.jsonl"
    table.write_text(f"id,begin\n007,{PROMPT}\n01,a baker\n")
    command = ["predict", checkpoint, "--file", str(table), "--output", str(rows), "--words", "5", "--draw_seed", "1"]
    assert main([*command, "--text_column", "begin"]) == 0
    assert [json.loads(line) for line in rows.read_text().splitlines()] == [
        {"id": name, "begin": pair["prompt"], "continuation": pair["continuation"]}
        for name, pair in zip(("007", "01"), content, strict=True)
    ]


def test_several_columns_are_read_one_after_another(finished: tuple[ExperimentRun, RunResult], tmp_path: Path) -> None:
    checkpoint, scores, out = str(finished[0].checkpoint), tmp_path / "scores.json", tmp_path / "out.json"
    (tmp_path / "rows.csv").write_text("more,begin\nsaw the baker,the man\nbaker,a\n")
    (tmp_path / "lines.txt").write_text("the man saw the baker\na baker\n")
    both = ["--text_column", "begin", "more"]
    found = []
    for name, columns in (("rows.csv", both), ("lines.txt", [])):
        command = ["evaluate", checkpoint, "--dataset", str(tmp_path / name), "--split", "train", *columns]
        assert main([*command, "--output", str(scores)]) == 0
        told = ["predict", checkpoint, "--file", str(tmp_path / name), "--output", str(out), "--words", "3"]
        assert main([*told, *columns]) == 0
        prompts = [(one["prompt"].split(), one["continuation"]) for one in json.loads(out.read_text())]
        found.append((prompts, json.loads(scores.read_text())["metrics"]))
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "give either --text, or --file"),
        (["--file", "absent.txt"], "no file 'absent.txt'"),
        (["--text", " "], "--text is ' '; expected a text"),
        (["--text", "the", "--temperature", "0"], "temperature is 0.0; expected more than 0"),
        (["--text", "the", "--steps", "3"], "--steps: for polyphonic-music"),
    ],
)
def test_what_predict_does_not_take(
    finished: tuple[ExperimentRun, RunResult], options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["predict", str(finished[0].checkpoint), *options]) == 2
    assert message in capsys.readouterr().err


def test_all_cells_have_as_many_parameters_on_the_penn_treebank() -> None:
    counts = {}
    for cell in CELLS:
        config = BetaLstmConfig(**config_of(set_cell(build_paper_experiment(), cell)), vocab_size=10_001)
        counts[cell] = sum(weight.numel() for weight in build_meta_model(BetaLstmForCausalLM, config).parameters())
    assert counts["lstm"] == 4_652_001
    assert all(abs(count / counts["lstm"] - 1) < 0.002 for count in counts.values())


def test_an_unknown_cell_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="cells: unknown cell 'gru'; known: lstm, coupled, "):
        run(tmp_path, "gru")
