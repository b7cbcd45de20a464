"""What `ctxzoo train token-classification` makes of a request: sentences, settings, runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from transformers import AutoConfig, AutoModelForTokenClassification

import ctxzoo
from ctxzoo.cli.main import main
from ctxzoo.data.own_splits import write_own_splits
from ctxzoo.runs.own_data import set_user_rows
from ctxzoo.tasks.token_classification.baselines import FrequentTags, extract_features
from ctxzoo.tasks.token_classification.experiments import build_paper_experiment, get_variants
from ctxzoo.tasks.token_classification.problem import TOKEN_CLASSIFICATION
from tests.support.baselines import check_baselines, result_of
from tests.support.own_data import write_tags
from tests.support.own_trainings import config_of


def read(path: Path) -> Any:
    return TOKEN_CLASSIFICATION.read_user_data(build_paper_experiment().copy_with(dataset=str(path)), {}, path.parent)


def test_documents_stay_together_where_there_are_enough(tmp_path: Path) -> None:
    rows = read(write_tags(tmp_path / "a.conll", 40, documents=20))
    assert rows.together == "sentences of one document"
    assert rows.groups["train"].tolist() == [number // 2 for number in range(40)]
    few = read(write_tags(tmp_path / "b.conll", 40, documents=4))
    assert few.together == "equal sentences"
    assert len(set(few.groups["train"].tolist())) == 40


def test_equal_sentences_stay_together(tmp_path: Path) -> None:
    path = tmp_path / "a.conll"
    path.write_text("Yes UH\n. .\n\nno UH\n\nyes UH\n. .\n", encoding="utf-8")
    assert read(path).groups["train"].tolist() == [0, 1, 0]


def test_tags_have_their_names_in_every_part(tmp_path: Path) -> None:
    written = write_own_splits(read(write_tags(tmp_path / "a.conll", 40)), "a.conll", tmp_path)
    assert written.lines[0].startswith("a.conll: 40 sentences: 32 train, 4 validation, 4 test (")
    places = {"dataset": str(tmp_path / "a.conll"), "output_dir": str(tmp_path.parent), "recipe": tmp_path.name}
    data = TOKEN_CLASSIFICATION.build_data_module(set_user_rows(build_paper_experiment().copy_with(**places), written))
    data.setup()
    assert data.label_names == ["LOC", "O", "PER"]
    assert data.splits == ("train", "validation", "test")


@pytest.mark.parametrize("settings", ["default", "paper"])
def test_every_setting_makes_a_model(settings: str) -> None:
    experiment = TOKEN_CLASSIFICATION.get_settings(settings, *TOKEN_CLASSIFICATION.default)
    for one in (experiment, TOKEN_CLASSIFICATION.make_tiny(experiment)):
        TOKEN_CLASSIFICATION.check(one)
        config = AutoConfig.for_model("ctxzoo_bilstm_tagger", vocab_size=30, num_labels=3, **config_of(one))
        assert all(getattr(config, name) == value for name, value in config_of(one).items())


@pytest.mark.parametrize("architecture", ["kernel_encoder", "linear_encoder", "higher_order_encoder"])
def test_every_default_of_an_encoder_makes_a_tagger(architecture: str) -> None:
    for variant in get_variants(architecture):
        experiment = TOKEN_CLASSIFICATION.get_settings("default", architecture, variant)
        for one in (experiment, TOKEN_CLASSIFICATION.make_tiny(experiment)):
            TOKEN_CLASSIFICATION.check(one)
            config = AutoConfig.for_model(f"ctxzoo_{architecture}", vocab_size=30, num_labels=3, **config_of(one))
            of_variant = type(config).variants[variant]
            assert {name: getattr(config, name) for name in of_variant} == of_variant
            AutoModelForTokenClassification.from_config(config)
    with pytest.raises(ValueError, match=rf"no settings of a paper for {architecture} on tags, .* default"):
        TOKEN_CLASSIFICATION.get_settings("paper", architecture, variant)


def test_a_tagger_goes_on_with_other_tags(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_tags(tmp_path / "first.conll", 40)
    assert main(["train", "token-classification", "--data", "first.conll", "--tiny"]) == 0
    (checkpoint,) = Path("runs").rglob("checkpoint")
    content = Path("first.conll").read_text().replace(" LOC", " PLACE").replace("Halvik", "Unheardof")
    Path("second.conll").write_text(content)
    capsys.readouterr()
    command = ["train", "token-classification", "--data", "second.conll", "--tiny", "--init_from", str(checkpoint)]
    for option, message in (
        (["--lower_case"], "lower_case=True beside init_from='.*': the checkpoint decides it"),
        (
            ["--word_vectors", "a.txt"],
            "word_vectors='a.txt' beside init_from='.*': a checkpoint has vectors",
        ),
    ):
        assert main([*command, *option]) == 2
        assert re.search(message, capsys.readouterr().err)
    assert main(command) == 0
    assert "it is replaced by a new one for ['O', 'PER', 'PLACE']" in capsys.readouterr().out
    (continued,) = Path("runs").rglob("continued-*/checkpoint")
    tagger = ctxzoo.pipeline(continued)
    assert sorted(tagger.model.config.id2label.values()) == ["O", "PER", "PLACE"]
    assert "halvik" in tagger.tokenizer.get_vocab()
    assert "unheardof" not in tagger.tokenizer.get_vocab()


def test_simple_models_stand_beside_a_users_tags(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The word before says whether a plan is one: the linear model reads it, a count of each word does not."""
    monkeypatch.chdir(tmp_path)
    words = ("plan", "walk", "talk", "sail")
    blocks = [
        f"n{number} O\n{('the', 'to')[number % 2]} O\n{words[number // 2 % 4]} {('NOUN', 'VERB')[number % 2]}\n"
        for number in range(200)
    ]
    Path("own.conll").write_text("\n".join(blocks))
    command = ["train", "token-classification", "--data", "own.conll", "--tiny"]
    lines = [
        "the most frequent tag of each word has ",
        "a linear model has 100.00 accuracy and 100.00 macro F1 on test (",
    ]
    said = check_baselines(command, lines, ["most_frequent_tag", "linear_tagger"], capsys)
    assert 66 < result_of("most_frequent_tag").metrics["test/accuracy"] < 95
    assert "the words beside it, fitted on 1,000 sentences at most of train and validation); this model's" in said


def test_the_most_frequent_tag_of_a_word_and_of_all() -> None:
    tagger = FrequentTags([["a", "b", "a"], ["a", "c", "b"]], np.array([1, 0, 2, 2, 2, -100]))
    assert tagger.predict([["a", "b"], ["new"]]).tolist() == [2, 0, 2]
    assert tagger.num_parameters == 4


def test_features_of_a_word() -> None:
    first, second = extract_features(["Paris", "2026b"])
    assert first == [
        *("w=Paris", "l=paris", "shape=Xxx", "p1=p", "s1=s", "p2=pa", "s2=is", "p3=par", "s3=ris"),
        *("before=", "behind=2026b"),
    ]
    assert {"shape=99x", "before=paris", "behind="} <= set(second)
