"""What earlier versions wrote is read in the names of today: configs, checkpoints, results files, commands."""

from __future__ import annotations

import json
import shlex
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoConfig, AutoModel, AutoTokenizer

import ctxzoo
from ctxzoo.hub.folder_files import CheckpointFolderError
from ctxzoo.hub.saved_model import load_saved_model, read_saved_model
from ctxzoo.models import ARCHITECTURES, old_names
from ctxzoo.models.configuration_lama import LamaConfig
from ctxzoo.models.modeling_kernel_encoder import KernelEncoderForRegression
from ctxzoo.models.modeling_lama import LamaModel
from ctxzoo.models.modeling_time_encoder import TimeEncoderForNextEvent
from ctxzoo.models.old_names import ENCODER, ENCODER_FIELDS, KEPT, convert_config_fields, convert_result
from ctxzoo.models.tokenization_word import build_word_tokenizer
from ctxzoo.results.result import RunResult, read_result_of_settings
from ctxzoo.runs.own_data import parse_train_command
from ctxzoo.tasks import get_problem, get_train_names
from ctxzoo.tasks.language_modelling import LanguageModellingDataModule
from ctxzoo.tasks.text_classification import TextClassificationDataModule, TextVocabulary
from ctxzoo.tasks.text_classification.linear import build_linear_baseline
from ctxzoo.training.callbacks import SameSettings
from tests.support.committed_results import committed_results
from tests.support.recipe_here import ask

ROOT = Path(__file__).parents[2]
RECIPES = (
    "badges_lste",
    "document_context_encoder",
    "long_context_esa",
    "regression_ika",
    "sentence_context_encoder",
)
SIZES: dict[str, Any] = {"vocab_size": 9, "word_dim": 8, "hidden_size": 8, "num_heads": 2, "num_layers": 1}


def old(**fields: Any) -> dict[str, Any]:
    return {"model_type": f"ctxzoo_{ENCODER}", **SIZES, **fields}


@pytest.mark.parametrize(
    ("fields", "architecture", "expected"),
    [
        ({}, "kernel_encoder", {"attention": "dot", "causal": False}),
        ({"attention": "mikan", "p_norm": 1.8, "order_type": "area"}, "kernel_encoder", {"p_norm": 1.8}),
        ({"attention": "esa", "feature_map": "elu"}, "linear_encoder", {"feature_map": "elu"}),
        ({"attention": "hsa"}, "higher_order_encoder", {"order_type": "contextual", "order": None}),
        (
            {"attention": "hsa", "order_type": "factorised", "factorised_order": 4},
            "higher_order_encoder",
            {"order": 4},
        ),
        ({"attention": "hsa", "order_type": "anova", "anova_order": 3}, "higher_order_encoder", {"order": 3}),
        ({"position": "mercer"}, "time_encoder", {"position": "mercer", "causal": False}),
        ({"position": "bochner", "tied_frequencies": False}, "time_encoder", {"position": "bochner_untied"}),
        ({"event_names": list("abcdefgh")}, "time_encoder", {"position": "sinusoidal"}),
    ],
    ids=str,
)
def test_a_config_of_the_context_encoder_is_one_of_four(
    fields: dict[str, Any], architecture: str, expected: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "config.json").write_text(json.dumps(old(**fields)))
    for config in (AutoConfig.from_pretrained(tmp_path), AutoConfig.for_model(**old(**fields))):
        assert type(config) is ARCHITECTURES[architecture].config_class
        assert {name: getattr(config, name) for name in expected} == expected
    assert type(AutoModel.from_config(config)) is ARCHITECTURES[architecture].model_classes["AutoModel"]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"attention": "expsin"}, "attention='expsin' of a context_encoder was last there in the version of"),
        ({"position": "learned"}, "position='learned' of a context_encoder"),
        ({"attention": "hsa", "order_type": "area"}, "order_type='area'"),
        ({"embedding_bound": 1.0}, r"embedding_bound=1\.0 .*; 0\.1 is the only one now: load it with that version"),
        ({"freeze_embeddings": True}, "freeze_embeddings=True"),
        ({"wide_buckets": 3}, "wide_buckets=3"),
        ({"attention": "mikan", "copula": "authors"}, "copula='authors' .*; 'gaussian' is the only one"),
        ({"attention": "ika", "stationary": True}, "stationary=True"),
        ({"attention": "esa", "orthogonal": False}, "orthogonal=False"),
        ({"attention": "hsa", "value_order": 2}, "value_order=2"),
        ({"position": "lste", "attention": "ika"}, "attention='ika' .*; 'dot' is the only one"),
        ({"position": "lste", "row_time_unit": True}, "row_time_unit=True"),
    ],
    ids=str,
)
def test_a_value_that_is_gone_is_named(fields: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        convert_config_fields(old(**fields))
    (tmp_path / "config.json").write_text(json.dumps(old(**fields)))
    with pytest.raises(CheckpointFolderError, match=message):
        read_saved_model(str(tmp_path))


def test_fields_that_are_kept_are_those_of_the_configs() -> None:
    for architecture, names in KEPT.items():
        assert all(hasattr(ARCHITECTURES[architecture].config_class, name) for name in names)
    assert len(ENCODER_FIELDS) == 83


def test_a_checkpoint_of_events_opens_under_its_old_names(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(old_names, "_logged_types", set())
    config = ARCHITECTURES["time_encoder"].config_class(**SIZES, position="lste", event_names=list("abcdefgh"))
    model = TimeEncoderForNextEvent(config).eval()
    model.save_pretrained(tmp_path)
    file = tmp_path / "config.json"
    content = json.loads(file.read_text())
    content |= {"model_type": f"ctxzoo_{ENCODER}", "architectures": ["ContextEncoderForNextEvent"]}
    content |= {"auto_map": {"AutoConfig": "configuration_context_encoder.ContextEncoderConfig"}, "kl_lambda": 0.1}
    file.write_text(json.dumps(content))
    times = [1.0, 2.0]
    expected = model.next_events(["a", "b"], times)
    found, _ = load_saved_model(str(tmp_path))
    assert found.next_events(["a", "b"], times) == expected
    assert TimeEncoderForNextEvent.from_pretrained(tmp_path).next_events(["a", "b"], times) == expected
    told = [record.getMessage() for record in caplog.records if record.name == "ctxzoo.models.old_names"]
    assert told == ["a config of ctxzoo_context_encoder, an older name, is read as one of ctxzoo_time_encoder"]


def test_a_regression_whose_config_holds_its_scaling_predicts_as_before(tmp_path: Path) -> None:
    config = ARCHITECTURES["kernel_encoder"].config_class(input_size=2, hidden_size=8, num_heads=2, num_layers=1)
    model = KernelEncoderForRegression(config).eval()
    model.scaling.set_offsets_and_scales([1.5, 10.0, 100.0], [0.5, 20.0, 3.0])
    rows = torch.tensor([[1.0, 30.0], [4.0, -2.0]])
    expected = model.predict(rows)
    weights = {name: value for name, value in model.state_dict().items() if name != "scaling.bits"}
    model.save_pretrained(tmp_path, state_dict=weights)
    file = tmp_path / "config.json"
    content = json.loads(file.read_text()) | {
        **{"model_type": f"ctxzoo_{ENCODER}", "architectures": ["ContextEncoderForRegression"]},
        **{"feature_offsets": [1.5, 10.0], "feature_scales": [0.5, 20.0], "target_offset": 100.0, "target_scale": 3.0},
    }
    file.write_text(json.dumps(content))
    found, _ = load_saved_model(str(tmp_path))
    assert torch.equal(found.predict(rows), expected)
    found.save_pretrained(tmp_path / "again")
    again, _ = load_saved_model(str(tmp_path / "again"))
    assert torch.equal(again.predict(rows), expected)
    assert "row_scaling" not in json.loads((tmp_path / "again" / "config.json").read_text())


def test_every_committed_config_and_result_is_read_in_names_of_today() -> None:
    configs = sorted((ROOT / "model_cards").glob("*/config.json"))
    assert len(configs) > 5
    for file in configs:
        content = json.loads(file.read_text())
        assert convert_config_fields(content) == content, file
    for one in committed_results():
        assert not old_names.SETTINGS.keys() & set(one.settings)
        assert "utter" not in str(one.settings.get("pipeline"))
        assert one.architecture in {*ARCHITECTURES, "scikit_learn"} or one.architecture != ENCODER
        if one.architecture in KEPT:
            # Settings of all architectures are there; None says that this one has no such setting.
            assert one.settings.get("freeze_embeddings") is one.settings.get("embedding_bound") is None


def test_a_result_of_today_is_read_as_it_is() -> None:
    content = {"architecture": "lama", "variant": "dot", "settings": {"attention": "esa", "embedding_bound": 0.1}}
    assert convert_result(content) == content
    of_esa = {"architecture": ENCODER, "variant": "esa", "settings": {"attention": "esa", "word_dim": 8}}
    assert convert_result(of_esa) == {**of_esa, "architecture": "linear_encoder", "settings": {"word_dim": 8}}


@pytest.mark.parametrize("name", ["words_svm", "bigram_nblr_tuned", "fasttext", "fasttext_autotuned"])
def test_the_pipeline_of_an_earlier_result_is_that_of_a_baseline_of_today(name: str) -> None:
    pipeline = " ".join(repr(build_linear_baseline(name, "english")).split())
    before = pipeline.replace("WordPreTokenizer(", "WordCutter(").replace("pre_tokenizer=", "cutter=")
    assert before != pipeline
    content = {"recipe": "document_linear", "settings": {"cutter": "english", "pipeline": before}}
    assert convert_result(content)["settings"] == {"pre_tokenizer": "english", "pipeline": pipeline}
    assert content["settings"] == {"cutter": "english", "pipeline": before}


@pytest.mark.parametrize("problem", ["text-classification", "language-modelling", "word-embeddings"])
def test_the_option_cutter_is_pre_tokenizer(problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notices: list[str] = []
    monkeypatch.setattr("ctxzoo.runs.command_line.print_once", notices.append)
    commands = get_problem(get_train_names()[problem])
    alone, grouped = tmp_path / "alone.yaml", tmp_path / "grouped.yaml"
    alone.write_text("cutter: whitespace\n")
    grouped.write_text("data:\n  cutter: whitespace\n")  # as a run of an earlier version kept it
    for words in (
        ["--cutter", "whitespace"],
        ["--cutter=whitespace"],
        ["--data.cutter=whitespace"],
        ["--config", str(alone)],
        ["--config", str(grouped)],
    ):
        line = parse_train_command(commands, ["--data", "sample", *words])
        assert line.experiment.values()["pre_tokenizer"] == "whitespace", words
        assert "pre_tokenizer" in line.typed
    assert parse_train_command(commands, ["--data", "sample"]).experiment.values()["pre_tokenizer"] == "english"
    assert notices == ["--cutter is --pre_tokenizer now"] * 5


def test_train_takes_the_argument_cutter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctxzoo.runs.own_data.train_on_user_data", lambda problem, line: line)
    line: Any = ctxzoo.train("text-classification", "sample", cutter="whitespace")
    assert line.experiment.data.pre_tokenizer == "whitespace"


def test_classes_of_data_and_tokenizers_take_the_argument_cutter(tmp_path: Path) -> None:
    assert TextVocabulary(cutter="english") == TextVocabulary(pre_tokenizer="english") != TextVocabulary()  # type: ignore[call-arg]
    texts = TextClassificationDataModule.from_options("sample", cutter="english", min_word_count=2)
    assert texts.vocabulary == TextVocabulary(pre_tokenizer="english", min_word_count=2)
    lines = LanguageModellingDataModule("sample", cutter="english")  # type: ignore[call-arg]
    assert lines.vocabulary.pre_tokenizer == "english"
    with pytest.raises(TypeError, match="unexpected keyword argument 'knife'"):
        TextVocabulary(knife="english")  # type: ignore[call-arg]
    tokenizer = build_word_tokenizer(["do", "n't"], cutter="english")
    assert tokenizer.tokenize("Don't") == ["do", "n't"]
    tokenizer.save_pretrained(tmp_path)
    file = tmp_path / "tokenizer_config.json"
    content = json.loads(file.read_text())
    assert not {"cutter", "pre_tokenizer"} & content.keys()  # tokenizer.json holds the rules
    file.write_text(json.dumps({**content, "cutter": "english"}))
    assert AutoTokenizer.from_pretrained(tmp_path).tokenize("Don't") == ["do", "n't"]


def test_a_training_that_began_with_the_option_cutter_is_resumed() -> None:
    began = {"settings": {"cutter": "english"}}
    SameSettings({"pre_tokenizer": "english"}).load_state_dict(began)
    with pytest.raises(ValueError, match="pre_tokenizer='english', not 'whitespace'"):
        SameSettings({"pre_tokenizer": "whitespace"}).load_state_dict(began)


@pytest.mark.parametrize("name", RECIPES)
def test_resume_finds_every_committed_result_of_an_encoder(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Each command in the results makes runs whose files are there with the same settings and architecture."""
    committed = {
        file: json.loads(file.read_text())["command"]
        for folder in (ROOT / "results" / name, ROOT / "results" / "trials" / name)
        for file in folder.glob("*.json")
    }
    assert committed
    monkeypatch.chdir(ROOT)
    recipe = import_module(f"recipes.{name}")
    runs: list[Any] = []
    one = RunResult.__new__(RunResult)
    object.__setattr__(one, "metrics", {"test/accuracy": 0.0})
    object.__setattr__(one, "wall_seconds", 0.0)

    def gather(rows: Any, *_: Any) -> dict[str, Any]:
        runs.extend(run for row in rows.values() for run in row)
        return {}

    for module in (recipe, import_module("ctxzoo.runs.many")):
        monkeypatch.setattr(module, "run_all", gather, raising=False)
    if name == "long_context_esa":
        monkeypatch.setattr(recipe, "execute", lambda run, resume: runs.append(run) or one)
    for command in sorted(set(committed.values())):
        ask(recipe, shlex.split(command)[2:])
    found = set()
    for run in runs:
        for folder in (ROOT / "results", ROOT / "results" / "trials"):
            file = folder / name / Path(run.results_file).name
            done = read_result_of_settings(file, run.settings, run.defaults, run.implied_values)
            if done is not None and done.architecture == run.experiment.model.architecture:
                found.add(file)
    assert set(committed) - found == set()


@pytest.mark.parametrize("has_map", [True, False])
def test_a_lama_of_before_projection_size_reads_texts_as_then(has_map: bool, tmp_path: Path) -> None:
    sizes = {"vocab_size": 9, "word_dim": 4, "recurrent_size": 2}
    model = LamaModel(LamaConfig(**sizes, projection_size=None if has_map else 0)).eval()
    model.save_pretrained(tmp_path)
    file = tmp_path / "config.json"
    content = json.loads(file.read_text())
    del content["projection_size"]
    file.write_text(json.dumps(content | {"word_projection": has_map}))
    ids = torch.tensor([[1, 5, 2]])
    found = LamaModel.from_pretrained(tmp_path).eval()
    assert torch.equal(found(ids).pooler_output, model(ids).pooler_output)
