"""What `ctxzoo train language-modelling` makes of a user's text."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from ctxzoo.cli.main import main
from ctxzoo.models import ARCHITECTURES
from ctxzoo.models.configuration_beta_lstm import BetaLstmConfig
from ctxzoo.tasks.language_modelling.experiments import CELLS, PRIOR, build_paper_experiment, get_variants
from ctxzoo.tasks.language_modelling.problem import LANGUAGE_MODELLING
from ctxzoo.tasks.language_modelling.reader import sample_text
from tests.support.own_trainings import config_of


def test_equal_lines_stay_together(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("one line\nanother\n\nOne  line\n")
    rows = LANGUAGE_MODELLING.read_user_data(build_paper_experiment().copy_with(dataset=str(path)), {}, tmp_path)
    assert rows.groups["train"].tolist() == [0, 1, 0]
    assert (rows.unit, rows.together) == ("lines", "equal lines")


def test_one_line_is_trained_validated_and_tested_in_stretches(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    numbers = np.random.default_rng(0).zipf(1.5, (12, 1000)) % 5000
    pieces = [" ".join(f"word{number}" for number in piece) for piece in numbers]
    Path("text8").write_text(" ".join(pieces))
    assert main(["train", "language-modelling", "--data", "text8", "--tiny", "--batch_size", "4"]) == 0
    said = capsys.readouterr().out
    assert "text8: 12 lines: 10 train, 1 validation, 1 test (validation and test cut from the end of the text" in said
    what = "pieces of up to 1,000 words, into which the one line was cut, read as lines"
    assert f"note: text8: 12 {what}" in said
    (folder,) = Path("runs").rglob("data-*/")
    for split, expected in (("train", pieces[:10]), ("validation", pieces[10:11]), ("test", pieces[11:])):
        assert pq.read_table(folder / f"{split}.parquet")["text"].to_pylist() == expected
    found = [json.loads(path.read_text()).get("reading") for path in Path("runs/results").rglob("*.json")]
    assert {what: 12} in found
    (checkpoint,) = Path("runs").rglob("checkpoint")
    evaluated = ["evaluate", str(checkpoint), "--dataset", "text8", "--split", "train", "--output", "scores.json"]
    assert main(evaluated) == 0
    assert json.loads(Path("scores.json").read_text())["reading"]["counts"] == {what: 12}


@pytest.mark.parametrize("settings", ["default", "paper"])
def test_every_setting_makes_a_model(settings: str) -> None:
    for variant in CELLS:
        experiment = LANGUAGE_MODELLING.get_settings(settings, "beta_lstm", variant)
        for one in (experiment, LANGUAGE_MODELLING.make_tiny(experiment)):
            LANGUAGE_MODELLING.check(one)
            config = BetaLstmConfig(vocab_size=10, **config_of(one))
            assert config.cell == variant.removesuffix(PRIOR)
            assert all(getattr(config, name) == value for name, value in config_of(one).items())


@pytest.mark.parametrize("architecture", ["kernel_encoder", "linear_encoder", "higher_order_encoder"])
def test_every_default_of_an_encoder_makes_a_model(architecture: str) -> None:
    known = ARCHITECTURES[architecture]
    for variant in get_variants(architecture):
        experiment = LANGUAGE_MODELLING.get_settings("default", architecture, variant)
        for one in (experiment, LANGUAGE_MODELLING.make_tiny(experiment)):
            LANGUAGE_MODELLING.check(one)
            config: Any = known.config_class(vocab_size=10, **config_of(one))
            of_variant = known.config_class.variants[variant]
            assert (config.causal, config.position) == (True, "rotary")
            assert {name: getattr(config, name) for name in of_variant} == of_variant
            known.model_classes["AutoModelForCausalLM"](config)
    with pytest.raises(ValueError, match=rf"no settings of a paper for {architecture} on language, .* default"):
        LANGUAGE_MODELLING.get_settings("paper", architecture, variant)


def test_a_search_takes_the_lowest_score() -> None:
    assert (LANGUAGE_MODELLING.objective, LANGUAGE_MODELLING.lower_is_better) == ("perplexity", True)


def test_text_of_ones_own_goes_the_whole_way(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("own.txt").write_text("\n\n".join(sample_text(train=200)["train"]["text"][:]))
    assert main(["train", "language-modelling", "--data", "own.txt", "--tiny", "--batch_size", "4"]) == 0
    said = capsys.readouterr().out
    assert "own.txt: 200 lines: 160 train, 20 validation, 20 test (" in said
    assert re.search(
        r"\na count of up to five words in a row has [\d.]+ perplexity and [\d.]+ negative log-likelihood of a token "
        r"\(nats\) on test \(modified Kneser-Ney, fitted on train\); this model's perplexity beside it: \+[\d.]+; lo",
        said,
    )
    assert '--text "the beginning of a line"' in said
    (checkpoint,) = Path("runs").rglob("checkpoint")
    assert main(["predict", str(checkpoint), "--text", "The old baker", "--words", "3"]) == 0
    assert capsys.readouterr().out.startswith("The old baker")
    assert main(["evaluate", str(checkpoint), "--dataset", "own.txt", "--split", "train"]) == 0
    again = ["train", "language-modelling", "--data", "own.txt", "--tiny", "--init_from", str(checkpoint)]
    assert main([*again, "--pre_tokenizer", "english"]) == 2
    assert "pre_tokenizer=english beside init_from=" in capsys.readouterr().err
    assert main([*again, "--batch_size", "4"]) == 0
    (_,) = Path("runs").rglob("continued-*/checkpoint")


@pytest.mark.slow
def test_an_encoder_goes_the_whole_way_by_its_name_of_an_earlier_version(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("own.txt").write_text("\n\n".join(sample_text(train=200)["train"]["text"][:]))
    kind = ("--architecture", "context_encoder", "--variant", "mikan")
    assert main(["train", "language-modelling", "--data", "own.txt", "--tiny", "--batch_size", "4", *kind]) == 0
    (checkpoint,) = Path("runs").rglob("checkpoint")
    said = "--architecture context_encoder is --architecture kernel_encoder --variant mikan now"
    assert said in capsys.readouterr().out
    assert main(["predict", str(checkpoint), "--text", "The old baker", "--words", "3"]) == 0
    assert capsys.readouterr().out.startswith("The old baker")
    assert main(["evaluate", str(checkpoint), "--dataset", "own.txt", "--split", "train"]) == 0
