"""The way into recipes: command line, YAML file, errors in one line."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from huggingface_hub.errors import StrictDataclassError

from ctxzoo.models.configuration_contextualizer import ContextualizerConfig
from ctxzoo.runs.recipe import run_recipe
from ctxzoo.training.arguments import SIZE, Args, number_field
from ctxzoo.training.interrupted import TrainingInterrupted


@dataclass(frozen=True, kw_only=True)
class Settings(Args):
    """What is done.

    Args:
        epochs: Passes.
        models: Models.
        resume: Whether it goes on.
        progress: Whether a bar is shown.
        name: Name of the run.
    """

    epochs: int = number_field(10, SIZE)
    models: tuple[str, ...] = ("a",)
    resume: bool = False
    progress: bool = True
    name: str = ""


def parsed(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> Settings:
    found: list[Settings] = []
    monkeypatch.setattr(sys, "argv", ["recipe.py", *arguments])
    run_recipe(Settings, found.append, "a recipe")
    return found[0]


def settings_file(folder: Path, text: str) -> str:
    file = folder / "settings.yaml"
    file.write_text(text, encoding="utf-8")
    return str(file)


def test_options_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    assert parsed(monkeypatch) == Settings()
    assert parsed(monkeypatch, "--epochs", "3", "--resume") == Settings(epochs=3, resume=True)


def test_a_file_comes_first_and_options_win(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = settings_file(tmp_path, "epochs: 3\nmodels: [b, c]\nresume: true\nprogress: false\nname:\n")
    assert parsed(monkeypatch, file) == Settings(epochs=3, models=("b", "c"), resume=True, progress=False)
    assert parsed(monkeypatch, file, "--epochs", "5", "--models", "d").models == ("d",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- epochs", r"settings.yaml holds \['epochs'\]; expected settings by name"),
        ("epochs: [", "settings.yaml is not YAML: while parsing"),
        ("epoch: 3", "--epoch"),
    ],
)
def test_a_file_that_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, message: str) -> None:
    with pytest.raises(SystemExit, match=message) as stopped:
        parsed(monkeypatch, settings_file(tmp_path, text))
    assert str(stopped.value).startswith("error: ")


def test_a_file_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SystemExit, match=r"error: .*nowhere\.yaml: no such file or directory$"):
        parsed(monkeypatch, "nowhere.yaml")


def bad_setting() -> StrictDataclassError:
    with pytest.raises(StrictDataclassError) as raised:
        ContextualizerConfig(rank=0)
    return raised.value


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("epochs is 0"), "error: epochs is 0"),
        (OSError("disk full"), "error: disk full"),
        (ImportError("needs: pip install wandb"), r"error: needs: pip install wandb"),
        (FloatingPointError("the loss is nan"), "error: the loss is nan"),
        (bad_setting(), r"^error: a setting of the model: rank must be at least 1, got 0$"),
        (TrainingInterrupted("stopped"), "stopped; --resume keeps what is finished and goes on with the rest"),
        (KeyboardInterrupt(), "stopped; --resume keeps"),
    ],
)
def test_what_a_user_can_mend_is_one_line(monkeypatch: pytest.MonkeyPatch, error: BaseException, message: str) -> None:
    def main(settings: Settings) -> None:
        raise error

    monkeypatch.setattr(sys, "argv", ["recipe.py"])
    with pytest.raises(SystemExit, match=message):
        run_recipe(Settings, main, None)


def test_other_errors_keep_their_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def main(settings: Settings) -> None:
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr(sys, "argv", ["recipe.py"])
    with pytest.raises(RuntimeError, match="a fault of ours"):
        run_recipe(Settings, main, None)


def test_what_is_advised_is_an_option_of_the_recipe(monkeypatch: pytest.MonkeyPatch) -> None:
    def main(settings: Settings) -> None:
        raise ValueError("no such row (or set `name` to another), nor fold (or set `folds`)")

    monkeypatch.setattr(sys, "argv", ["recipe.py"])
    with pytest.raises(SystemExit) as stopped:
        run_recipe(Settings, main, "a recipe")
    assert stopped.value.code == "error: no such row (or set --name to another), nor fold"


def test_a_recipe_that_cannot_resume_does_not_offer_it(monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclass(frozen=True, kw_only=True)
    class Brief(Args):
        name: str = ""

    def main(settings: Brief) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(sys, "argv", ["recipe.py"])
    with pytest.raises(SystemExit) as stopped:
        run_recipe(Brief, main, "a recipe")
    assert stopped.value.code == "stopped"
