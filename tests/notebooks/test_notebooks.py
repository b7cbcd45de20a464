"""Every notebook runs from top to bottom, in a kernel of its own and in a copy of its folder."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from tests.support.subprocesses import REPOSITORY_ROOT

NOTEBOOKS = sorted((REPOSITORY_ROOT / "notebooks").glob("*.ipynb"))


def run(name: str, folder: Path) -> list[Any]:
    """The code cells of a notebook after it has run beside a copy of the published checkpoints."""
    shutil.copytree(REPOSITORY_ROOT / "model_cards", folder / "model_cards")
    place = folder / "notebooks"
    place.mkdir()
    notebook = nbformat.read(REPOSITORY_ROOT / "notebooks" / name, as_version=4)  # type: ignore[no-untyped-call]
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(place)}}).execute()
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def printed(cell: Any) -> str:
    """On stdout; progress bars are on stderr."""
    streams = (output for output in cell.outputs if output.output_type == "stream")
    return "".join(output["text"] for output in streams if output.name == "stdout")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_is_stored_without_outputs(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert (cell.outputs, cell.execution_count) == ([], None)


@pytest.mark.slow
def test_contextualizer(tmp_path: Path) -> None:
    loaded, classified, piped, drawn, explained, stepwise = run("contextualizer.ipynb", tmp_path)
    assert "157,042 trained parameters, K = 5, labels ['neg', 'pos']" in printed(loaded)
    lines = printed(classified).splitlines()
    assert [line.split()[0] for line in lines] == ["pos", "neg", "neg"]
    score = float(lines[1].split()[1])
    (answer,) = [output["data"]["text/plain"] for output in piped.outputs if "data" in output]
    assert "'label': 'neg'" in answer
    assert f"{score:.2f}"[:3] in answer
    assert any("image/png" in output["data"] for output in drawn.outputs if "data" in output)
    assert printed(explained).startswith("too +")
    assert any("<mark" in output["data"]["text/html"] for output in explained.outputs if "data" in output)
    steps = printed(stepwise).splitlines()
    assert len(steps) == 5
    assert f"neg {score:.2f}" in steps[-1]  # the last step is what the model says


@pytest.mark.slow
def test_lama(tmp_path: Path) -> None:
    loaded, classified, piped, shown, compared = run("lama.ipynb", tmp_path)
    assert "15 heads, labels ['acq', 'crude', 'earn', 'grain'" in printed(loaded)
    assert [line.split()[0] for line in printed(classified).splitlines()] == ["earn", "crude", "grain", "interest"]
    (answer,) = [output["data"]["text/plain"] for output in piped.outputs if "data" in output]
    assert "'label': 'crude'" in answer
    (page,) = [output["data"]["text/html"] for output in shown.outputs if "data" in output]
    assert page.count("<details") == 7 + 15  # the other labels, and the heads
    assert "<mark" in page
    lines = printed(compared).splitlines()
    assert len(lines) == 16
    assert 0 < float(lines[-1].split()[-1]) <= 1


@pytest.mark.slow
def test_attention_cbow(tmp_path: Path) -> None:
    trained, loaded, filled, nearest, words, positions, exported = run("attention_cbow.ipynb", tmp_path)
    assert "70 words, 789,100 read" in printed(trained)
    first, last = map(float, re.findall(r"loss (\S+) at first, (\S+) at the end", printed(trained))[0])
    assert last < 0.5 * first
    assert "(1, 14, 20) (1, 14, 20)" in printed(loaded)
    animals, adverbs = printed(filled).splitlines()
    assert all(word in animals for word in ("dog", "horse", "goat"))
    assert all(word in adverbs for word in ("always", "never", "rarely", "often"))
    neighbours = dict(line.split(": ") for line in printed(nearest).splitlines())
    assert {one.split()[0] for one in neighbours["eats"].split(", ")} == {"smells", "hides", "finds"}
    for drawn in (words, positions):
        assert any("image/png" in output["data"] for output in drawn.outputs if "data" in output)
    files, gensims, back = printed(exported).splitlines()
    assert (files, back) == ("[True, True]", "True")
    assert gensims.startswith("[('")


@pytest.mark.slow
def test_beta_lstm(tmp_path: Path) -> None:
    trained, loaded, following, continued, predicted, gates, densities = run("beta_lstm.ipynb", tmp_path)
    if not (REPOSITORY_ROOT / "model_cards" / "beta-lstm-chorales").is_dir():
        (nats,) = re.findall(r"generated music: (\S+) nats a step", printed(trained))
        assert float(nats) < 9  # each key by whether it sounded before: 9.16
    layers = int(re.findall(r"weights, cell bibeta5, layers x units: (\d+) x", printed(loaded))[0])
    probabilities = [float(line.rpartition(" ")[2]) for line in printed(following).splitlines()]
    assert len(probabilities) == 6
    assert probabilities == sorted(probabilities, reverse=True)
    assert "8 steps, and 48 more with " in printed(continued)
    for drawn in (continued, predicted, densities):
        assert any("image/png" in output["data"] for output in drawn.outputs if "data" in output)
    lines = printed(gates).splitlines()
    assert [line.partition(":")[0] for line in lines] == [
        f"{when} training, layer {layer}" for when in ("before", "after ") for layer in range(1, layers + 1)
    ]
    correlations = [float(one) for one in re.findall(r"correlation (\S+) ±", printed(gates))]
    assert correlations[:layers] == pytest.approx([-0.22] * layers, abs=0.03)
    assert correlations[layers:] != correlations[:layers]


@pytest.mark.slow
def test_context_encoder(tmp_path: Path) -> None:
    factorised, trained, words, density, stock, badges, clock = run("context_encoder.ipynb", tmp_path)
    difference, *norms = printed(factorised).splitlines()
    assert float(difference.split()[-1]) < 1e-5
    assert [line.split(":")[0] for line in norms] == ["p = 1", "p = 2", "p = 3"]
    (accuracy,) = re.findall(r"test sentences: (\S+) %", printed(trained))
    assert float(accuracy) > 80
    for drawn in (words, density, clock):
        assert any("image/png" in output["data"] for output in drawn.outputs if "data" in output)
    assert printed(stock).strip() == "changed: True, loaded alike: True"
    soon, late = (re.findall(r"(\D+) (\d\.\d+)", line) for line in printed(badges).splitlines())
    assert len(soon) == len(late) == 3
    assert soon != late


@pytest.mark.slow
def test_hcrnn(tmp_path: Path) -> None:
    trained, recommended, drift, topics, published = run("hcrnn.ipynb", tmp_path)
    (hits,) = re.findall(r"of (\d+) % of what came", printed(trained))
    assert int(hits) > 80
    likeliest = printed(recommended).splitlines()[0]
    assert likeliest.split(":")[0] == "tea 4"
    lines = printed(drift).splitlines()
    assert [line.split()[0] for line in lines] == ["tea"] * 5 + ["cheese"] * 5
    assert all(0 < float(line.split()[-1]) < 1 for line in lines)
    assert any("image/png" in output["data"] for output in drift.outputs if "data" in output)
    assert [line.partition(":")[0] for line in printed(topics).splitlines()] == [f"topic {n}" for n in range(1, 7)]
    first, *others = printed(published).splitlines()
    assert first.startswith("1,980 articles; after ")
    assert len(others) == 3


@pytest.mark.slow
def test_nipen(tmp_path: Path) -> None:
    trained, loaded, predicted, chamber, topics, votes = run("nipen.ipynb", tmp_path)
    accuracy, likelihood = map(
        float, re.findall(r"accuracy (\S+) %, log-likelihood of a vote (\S+)", printed(trained))[0]
    )
    assert accuracy > 70
    assert likelihood > -0.6
    assert "24 legislators, 120 bills" in printed(loaded)
    hill, shore, other_hill, other_shore = (float(line.split()[1]) for line in printed(predicted).splitlines())
    assert hill > shore  # Hill forbids, and Shore permits
    assert other_hill < other_shore
    for cell in (chamber, votes):
        assert any("image/png" in output["data"] for output in cell.outputs if "data" in output)
    assert len(printed(topics).splitlines()) == 2
