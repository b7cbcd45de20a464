"""Tags of spans from `ctxzoo train` to results, card and `ctxzoo evaluate`: all tell the same span F1."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ctxzoo.cli.main import main
from ctxzoo.results.result import read_result

NAMES = ("Bar", "Del", "Fen", "Gal", "Kir", "Lom")


def write_names(path: Path, sentences: int = 120) -> None:
    """Write sentences with one name of one or two words each, in IOB2; a town stands behind "in"."""
    blocks = []
    for number in range(sentences):
        label = ("PER", "LOC")[number % 2]
        first, second = NAMES[number % 6], NAMES[number // 6 % 6]
        lines = [f"n{number} O", f"{('saw', 'in')[number % 2]} O", f"{first} B-{label}"]
        blocks.append("\n".join([*lines, *([f"{second} I-{label}"] if number % 3 else []), ". O"]))
    path.write_text("\n\n".join(blocks) + "\n", encoding="utf-8")


def test_training_and_evaluation_tell_the_scores_of_spans(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_names(tmp_path / "own.conll")
    assert main(["train", "token-classification", "--data", "own.conll", "--tiny", "--threads", "1"]) == 0
    said = "".join(capsys.readouterr())
    assert "own.conll: 2 labels of spans, by tags in the scheme BIO; precision, recall and F1 are of spans" in said
    assert "monitor span_f1" in said
    assert "running text is cut by the rule 'treebank': it gives 100.0 % of the training words" in said
    assert "a linear model has 100.00 span F1 and 100.00 accuracy on test" in said
    assert "a conditional random field has 100.00 span F1 and 100.00 accuracy on test (ten features of" in said
    results = [read_result(path) for path in Path("runs/results").rglob("*.json")]
    (result,) = [one for one in results if one.architecture == "bilstm_tagger"]
    assert result.settings["monitor"] == "span_f1"
    assert result.metrics["test/spans"] == result.metrics["test/spans_LOC"] + result.metrics["test/spans_PER"] == 12
    assert "validation/epoch1/span_f1" in result.metrics
    (checkpoint,) = Path("runs").rglob("checkpoint")
    card = (checkpoint / "README.md").read_text(encoding="utf-8")
    assert f"| span F1 | {result.metrics['test/span_f1']:.2f} |" in card
    assert f"| LOC | {result.metrics['test/span_f1_LOC']:.2f} |" in card
    rows = next(Path("runs").rglob("test.parquet")).parent
    arguments = ["--dataset", str(rows), "--tag_column", "tags", "--output", "scores.json"]
    assert main(["evaluate", str(checkpoint), *arguments]) == 0
    assert "span F1" in capsys.readouterr().out
    scores = json.loads(Path("scores.json").read_text())["metrics"]
    spans = {name: value for name, value in scores.items() if name.startswith("span")}
    assert spans == pytest.approx({name: result.metrics[f"test/{name}"] for name in spans})
    assert len(spans) == 12
    config = json.loads((checkpoint / "config.json").read_text())
    assert (config["crf"], config["scheme"]) == (True, "IOB2")
    Path("tags.conll").write_text(Path("own.conll").read_text().replace("B-", "").replace("I-", ""))
    command = ["train", "token-classification", "--tiny", "--threads", "1", "--baselines", "no"]
    assert main([*command, "--data", "tags.conll", "--init_from", str(checkpoint), "--label_smoothing", "0"]) == 0
    (continued,) = Path("runs").rglob("continued-*/checkpoint")
    assert json.loads((continued / "config.json").read_text())["scheme"] is None
    capsys.readouterr()
    assert main([*command, "--data", "own.conll", "--crf", "true", "--label_smoothing", "0.1"]) == 2
    assert "label_smoothing=0.1 beside crf=True: a CRF has no smoothing" in capsys.readouterr().err
