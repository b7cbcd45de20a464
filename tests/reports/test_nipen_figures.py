"""The pictures of a chamber, from a checkpoint of legislators whose places are known."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import datasets
import pytest
import torch

from ctxzoo.models.configuration_nipen import NipenConfig
from ctxzoo.models.modeling_nipen import NipenForVotePrediction
from reports.nipen_figures import FIGURES, load_nominate_scores
from tests.support.recipe_here import recipe_here

NAMES = ["Ada (R, X)", "Ben (B, Y)", "Cyd (R, X)", "Dot (B, Y)"]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> str:
    torch.manual_seed(0)
    config = NipenConfig(
        num_legislators=4,
        num_bills=2,
        vocab_size=3,
        num_topics=2,
        encoder_widths=[5, 4],
        amortized_bills=True,
        legislator_names=NAMES,
        legislator_groups=["Red", "Blue", "Red", "Blue"],
        bill_names=["b1", "b2"],
        words=["road", "sea", "tax"],
    )
    model = NipenForVotePrediction(config)
    with torch.no_grad():
        model.legislators.weight.copy_(torch.tensor([[0.0, 5], [2, 5], [4, 5], [6, 5]]))
    folder = tmp_path_factory.mktemp("nipen") / "checkpoint"
    model.save_pretrained(folder)
    return str(folder)


@pytest.fixture
def chamber(tmp_path: Path, own_cache: None) -> str:
    """A dataset with NOMINATE's scores of three of the four, one of whom seldom votes."""
    folder = tmp_path / "chamber"
    folder.mkdir()
    (folder / "README.md").write_text(
        "---\nconfigs:\n- config_name: legislators\n  data_files:\n  - split: train\n    path: people.parquet\n---\n"
    )
    people = {
        "legislator_id": [0, 1, 2, 3],
        "name": ["Ada", "Ben", "Cyd", "Dot"],
        "party": ["Red", "Blue", "Red", "Blue"],
        "state": ["X", "Y", "X", "Y"],
        "nominate_dim1": [0.3, 0.1, -0.1, 5.0],
        "num_votes": [900, 900, 900, 20],
    }
    datasets.Dataset.from_dict(people).to_parquet(folder / "people.parquet")
    return str(folder)


def rows(folder: Path, name: str) -> list[list[str]]:
    with (folder / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def test_every_figure_is_made(checkpoint: str, chamber: str, tmp_path: Path) -> None:
    options = ("--checkpoint", checkpoint, "--dataset", chamber, "--text", "a tax")
    made = recipe_here(tmp_path, *options, name="nipen_figures")
    assert made.returncode == 0, made.stderr
    folder = tmp_path / "runs" / "nipen_figures"
    assert {file.stem for file in folder.glob("*.png")} == set(FIGURES)
    assert set(json.loads((folder / "figures.json").read_text())) == set(FIGURES)
    (_, agreement), *points = rows(folder, "points")[1:]
    assert float(agreement) == pytest.approx(1)  # on a line, with Dot left out
    assert [name for name, _ in points] == NAMES
    model = NipenForVotePrediction.from_pretrained(checkpoint)
    expected = [[name, str(round(yea, 4))] for name, yea in model.predict_votes("a tax", -1)]
    assert rows(folder, "votes")[1:] == expected


def test_legislators_with_few_votes_have_no_point_to_compare_with(chamber: str) -> None:
    assert load_nominate_scores(chamber, None, 500) == {"Ada (R, X)": 0.3, "Ben (B, Y)": 0.1, "Cyd (R, X)": -0.1}
    assert set(load_nominate_scores(chamber, None, 1)) == set(NAMES)


@pytest.mark.parametrize(
    ("options", "message"),
    [((), "--checkpoint names nothing"), (("--checkpoint", "x", "--only", "maps"), "unknown 'maps'; known: points")],
)
def test_bad_options_are_named(options: tuple[str, ...], message: str, tmp_path: Path) -> None:
    refused = recipe_here(tmp_path, *options, name="nipen_figures")
    assert refused.returncode != 0
    assert message in refused.stderr
