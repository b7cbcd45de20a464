"""Generated tables: what stands in a document is what the results files say, no more and no less."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ctxzoo.evaluation.results import RunResult, read_results, write_result
from ctxzoo.evaluation.tables import (
    PAPER,
    TABLES,
    VARIANTS,
    disagreements,
    main,
    mean_and_deviation,
    render,
    write_csv,
)

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = "# Title\n\n<!-- table: bidaf-squad-v1-mini -->\n<!-- /table: bidaf-squad-v1-mini -->\n\nAfter.\n"


def make_run(variant: str = "baseline", seed: int = 1, f1: float = 40.0, **changes: Any) -> RunResult:
    settings = {"epochs": 3, "levers": [], "finish_source": None, "batch_size": 64} | changes.pop("settings", {})
    metrics = {"test/exact": f1 - 10, "test/f1": f1, "validation/f1": f1 + 1, "epochs": settings["epochs"]}
    run = RunResult(
        recipe="squad_bidaf",
        architecture="bidaf",
        variant=variant,
        dataset="ctxzoo-data/squad_v1_mini",
        split="test",
        fold=None,
        seed=seed,
        metrics=metrics | changes.pop("metrics", {}),
        settings=settings,
        parameters={"trainable": 1_439_405, "total": 9_000_000},
        command="python recipes/squad_bidaf.py",
        commit="0123abc",
        data={"source": "ctxzoo-data/squad_v1_mini", "fingerprint": "00ff00ff00ff"},
        hardware={"cpu": "Some CPU"},
        versions={"python": "3.11.2"},
        wall_seconds=600.0,
        peak_memory_mb=900.0,
    )
    return replace(run, **changes)


def rows(table: str) -> dict[str, dict[str, str]]:
    """Cells of a Markdown table by row name and heading; every line must have as many cells as the heading."""
    lines = [line for line in table.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    assert {len(line) for line in cells} == {len(cells[0])}
    assert len({line[0] for line in cells}) == len(cells)
    return {line[0]: dict(zip(cells[0][1:], line[1:], strict=True)) for line in cells[2:]}


def test_documents_agree_with_results() -> None:
    documents = [
        path for path in (ROOT / "README.md", *sorted((ROOT / "docs" / "models").glob("*.md"))) if path.exists()
    ]
    results = read_results(ROOT / "results") if (ROOT / "results").is_dir() else []
    stale = {path.name: names for path in documents if (names := disagreements(path.read_text("utf-8"), results))}
    assert not stale, f"run python -m ctxzoo.evaluation.tables on them: {stale}"


def test_a_document_agrees_only_with_the_results_it_was_made_from() -> None:
    results = [make_run(seed=1, f1=40.0), make_run(seed=2, f1=42.0)]
    text = render(DOCUMENT, results)
    assert text.startswith("# Title\n\n<!-- table: bidaf-squad-v1-mini -->\n\n| model |")
    assert text.endswith("\n\n<!-- /table: bidaf-squad-v1-mini -->\n\nAfter.\n")
    assert disagreements(text, results) == []
    assert render(text, results) == text
    assert disagreements(text, results[:1]) == ["bidaf-squad-v1-mini"]
    assert disagreements(text.replace("41.00", "41.01"), results) == ["bidaf-squad-v1-mini"]
    assert disagreements(DOCUMENT, results) == ["bidaf-squad-v1-mini"]


def test_every_table_renders_with_and_without_results() -> None:
    results = [make_run(), make_run("learned_char7", settings={"levers": ["ema"]})]
    for name in TABLES:
        text = f"<!-- table: {name} -->\nold\n<!-- /table: {name} -->\n"
        for given in ([], results):
            assert disagreements(render(text, given), given) == []
            assert len(TABLES[name](given).splitlines()) > 2


def test_several_tables_of_one_document_keep_their_places() -> None:
    names = list(TABLES)
    text = "".join(f"before {name}\n<!-- table: {name} -->\n<!-- /table: {name} -->\n" for name in names) + "end\n"
    made = render(text, [make_run()])
    plain = [line for line in made.splitlines() if line.startswith(("before", "<!--", "end"))]
    assert plain == text.splitlines()
    assert disagreements(made.replace("60.55", "66.55"), [make_run()]) == ["bidaf-paper"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<!-- table: other -->\n<!-- /table: other -->\n", "unknown table 'other'"),
        ("<!-- table: bidaf-paper -->\n", "not closed"),
        ("<!-- /table: bidaf-paper -->\n", "does not follow its opening"),
        ("<!-- table: bidaf-paper -->\n<!-- table: bidaf-levers -->\n", "does not follow a closed"),
        ("<!-- table: bidaf-paper -->\n<!-- /table: bidaf-levers -->\n", "does not follow its opening"),
        ("<!-- table: bidaf-paper -->\n<!-- /table: bidaf-paper -->\n" * 2, "occurs twice"),
    ],
)
def test_broken_markers(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        render(text, [])
    with pytest.raises(ValueError, match=message):
        disagreements(text, [])


def test_a_document_without_tables_is_left_alone() -> None:
    text = "Write `<!-- table: NAME -->` on a line of its own.\n"
    assert render(text, []) == text


def test_mean_and_sample_deviation() -> None:
    assert mean_and_deviation([40.0]) == "40.00"
    assert mean_and_deviation([40.0, 43.0]) == "41.50 ± 2.12"
    assert mean_and_deviation([0.5, 0.6], 3) == "0.550 ± 0.071"
    assert mean_and_deviation([40.0, None]) == "–"
    assert mean_and_deviation([]) == "–"


def test_main_table() -> None:
    results = [
        make_run("learned_char7", seed=1, f1=50.0, metrics={"epochs": 2}),
        make_run("learned_char7", seed=2, f1=53.0, wall_seconds=1200.0),
        make_run(wall_seconds=90.0),
        make_run(f1=1.0, dataset="ctxzoo-data/squad_v2_mini"),
        make_run(f1=2.0, settings={"levers": ["ema"]}),
        make_run(f1=3.0, settings={"finish_source": "v2"}),
        make_run(f1=4.0, architecture="qanet"),
    ]
    table = TABLES["bidaf-squad-v1-mini"](results)
    found = rows(table)
    assert list(found) == [*VARIANTS, "SQuAD 2.0, official train split"]
    assert found["learned_char7"] == {
        "trainable parameters": "1,439,405",
        "test EM": "41.50 ± 2.12",
        "test F1": "51.50 ± 2.12",
        "validation F1": "52.50 ± 2.12",
        "seeds": "2",
        "epochs": "2–3",
        "minutes": "15",
    }
    assert list(found["baseline"].values()) == ["1,439,405", "30.00", "40.00", "41.00", "1", "3", "1.5"]
    assert found["sinusoidal"]["test EM"] == "not run yet"
    command = "python recipes/squad_bidaf.py --dataset ctxzoo-data/squad_v1_mini --variant {} --word_vectors FILE"
    assert [variant for variant in VARIANTS if command.format(variant) in table] == [
        "sinusoidal",
        "learned",
        "learned_attention",
        "learned_char3",
        "learned_char9",
        "char7",
    ]
    assert found["SQuAD 2.0, official train split"]["test EM"] == "not run here: needs the Hub's train split"
    assert table.endswith("\npython recipes/squad_bidaf.py\n```")


def test_variants_that_nobody_listed_are_shown() -> None:
    found = rows(TABLES["bidaf-squad-v1-mini"]([make_run("learned_char5")]))
    assert list(found)[-2:] == ["learned_char5", "SQuAD 2.0, official train split"]


def test_runs_that_differ_in_more_than_the_seed_are_not_averaged() -> None:
    results = [
        make_run(seed=1, f1=40.0),
        make_run(seed=2, f1=50.0, settings={"batch_size": 32}),
        make_run(seed=3, f1=60.0, settings={"epochs": 9}),
        make_run(seed=4, f1=70.0, data={"source": "x", "fingerprint": "ffffffffffff"}),
    ]
    table = TABLES["bidaf-squad-v1-mini"](results)
    lines = [line for line in table.splitlines() if line.startswith("| baseline")]
    assert len(lines) == 4
    for f1, batch_size, epochs, data in ((40, 64, 3, "00ff00ff"), (50, 32, 3, "00ff00ff"), (60, 64, 9, "00ff00ff")):
        label = f"| baseline (batch_size {batch_size}, data {data}) |"
        assert any(line.startswith(label) and f"| {f1}.00 |" in line and f"| {epochs} |" in line for line in lines)
    assert any("data ffffffff" in line and "| 70.00 |" in line for line in lines)


def test_the_same_run_twice_is_refused() -> None:
    with pytest.raises(
        ValueError, match="two results for baseline on ctxzoo-data/squad_v1_mini with seed 1, fold None"
    ):
        TABLES["bidaf-squad-v1-mini"]([make_run(f1=40.0), make_run(f1=41.0), make_run(seed=2)])


def test_two_point_zero_table() -> None:
    metrics = {
        "test/span_exact": 18.0,
        "test/span_f1": 27.7,
        "test/no_answer_auc": 0.5678,
        "test/f1_at_threshold": 55.0,
        "test/always_no_answer": 54.4,
        "test/AvNA": 56.0,
        "test/nll": 7.125,
    }
    changes: dict[str, Any] = {"dataset": "ctxzoo-data/squad_v2_mini", "metrics": metrics}
    finished = make_run("learned_char7", settings={"levers": ["gru", "ema"], "finish_source": "v2"}, **changes)
    table = TABLES["bidaf-squad-v2-mini"]([make_run(**changes), finished, make_run("learned")])
    found = rows(table)
    assert list(found) == ["baseline", "learned_char7 + gru + ema, finished on v2"]
    values = ["18.00", "27.70", "0.568", "55.00", "54.40", "56.00", "7.12", "1", "3", "10"]
    assert list(found["baseline"].values()) == values
    assert "not run yet" not in table
    assert rows(TABLES["bidaf-squad-v2-mini"]([]))["baseline"]["span EM"] == "not run yet"


def test_the_starter_beside_ours_at_equal_epochs() -> None:
    metrics = {f"validation/epoch{epoch}/span_{name}": 10.0 * epoch for epoch in (1, 2, 3) for name in ("exact", "f1")}
    run = make_run("learned_char7", dataset="ctxzoo-data/squad_v2_mini", metrics=metrics)
    finished = make_run(dataset="ctxzoo-data/squad_v2_mini", metrics=metrics, settings={"finish_source": "v2"})
    found = rows(TABLES["bidaf-starter"]([run, finished, make_run()]))
    assert list(found) == ["CS224N starter (data's README)", "learned_char7"]
    assert list(found["learned_char7"].values()) == ["10.00", "10.00", "20.00", "20.00"]


def test_levers_are_compared_at_equal_seed_and_epochs() -> None:
    results = [
        make_run("learned_char7", seed=1, f1=50.0),
        make_run("learned_char7", seed=2, f1=60.0),
        make_run("learned_char7", seed=1, f1=90.0, settings={"epochs": 9}),
        make_run("learned_char7", seed=1, f1=51.0, settings={"levers": ["gru"]}),
        make_run("learned_char7", seed=2, f1=63.0, settings={"levers": ["gru"]}),
        make_run("learned_char7", seed=3, f1=99.0, settings={"levers": ["gru"]}),
        make_run("learned_char7", seed=2, f1=57.0, settings={"levers": ["ema"], "batch_size": 32}),
        make_run("learned_char7", seed=7, f1=70.0, settings={"levers": ["qanet"]}),
        make_run("baseline", seed=1, settings={"levers": ["gru"]}),
    ]
    table = TABLES["bidaf-levers"](results)
    lines = [line for line in table.splitlines()[2:] if line.startswith("| learned_char7 |")]
    assert [line.split(" | ")[3] for line in lines] == ["55.00 ± 7.07", "90.00"]
    found = rows("\n".join(line for line in table.splitlines() if line not in lines))
    assert list(found) == ["learned_char7 + ema", "learned_char7 + gru", "learned_char7 + qanet"]
    shown = {name: (row["difference F1"], row["difference EM"], row["pairs"]) for name, row in found.items()}
    assert shown == {
        "learned_char7 + ema": ("-3.00", "-3.00", "1"),
        "learned_char7 + gru": ("+2.00 ± 1.41", "+2.00 ± 1.41", "2"),
        "learned_char7 + qanet": ("–", "–", "0"),
    }


def test_the_plain_run_with_the_same_settings_is_the_one_to_compare_with() -> None:
    plain = [
        make_run("learned_char7", f1=50.0),
        make_run("learned_char7", f1=55.0, settings={"batch_size": 32}),
    ]
    levered = make_run("learned_char7", f1=56.0, settings={"batch_size": 32, "levers": ["gru"]})
    found = rows(TABLES["bidaf-levers"]([*plain, levered]))
    assert found["learned_char7 + gru"]["difference F1"] == "+1.00"
    other = make_run("learned_char7", f1=56.0, settings={"batch_size": 16, "levers": ["gru"]})
    assert rows(TABLES["bidaf-levers"]([*plain, other]))["learned_char7 + gru"]["difference F1"] == "–"


def test_levers_without_runs() -> None:
    found = rows(TABLES["bidaf-levers"]([make_run("learned_char7")]))
    assert found["learned_char7"]["test F1"] == "40.00"
    assert found["learned_char7 + each lever"]["test EM"] == "not run yet"


def test_paper_table_never_takes_our_numbers() -> None:
    table = TABLES["bidaf-paper"]([make_run("learned_char7", f1=64.0)])
    assert table == TABLES["bidaf-paper"]([])
    lines = table.splitlines()[2:]
    assert len(lines) == len(PAPER) == 8
    assert all(line.endswith("| not run here | not run here |") for line in lines)
    assert lines[5] == "| learned_char7 | dev | 64.57 | 61.49 | not run here | not run here |"
    assert lines[6] == "| learned_char9 | dev | not finished | not finished | not run here | not run here |"
    assert {row.variant for row in PAPER} == set(VARIANTS) - {"char7"}


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_result(make_run(), "results")
    Path("README.md").write_text(DOCUMENT, encoding="utf-8")
    return tmp_path


def test_command_checks_and_rewrites(workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["README.md", "--check"]) == 1
    assert "README.md: bidaf-squad-v1-mini disagree with results" in capsys.readouterr().out
    assert (workplace / "README.md").read_text(encoding="utf-8") == DOCUMENT
    assert main(["README.md"]) == 0
    assert (workplace / "README.md").read_text(encoding="utf-8") == render(DOCUMENT, [make_run()])
    assert main(["README.md", "--check"]) == 0
    assert capsys.readouterr().out == ""
    write_result(make_run(seed=2, f1=45.0), "results")
    assert main(["README.md", "--check"]) == 1


@pytest.mark.parametrize("arguments", [["missing.md"], ["README.md", "--results", "nowhere"], []])
def test_command_with_bad_input(workplace: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    assert capsys.readouterr().err


def test_command_names_the_document_with_a_broken_marker(workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (workplace / "bad.md").write_text("<!-- table: bidaf-paper -->\n")
    with pytest.raises(SystemExit):
        main(["README.md", "bad.md"])
    assert "bad.md: " in capsys.readouterr().err
    assert (workplace / "README.md").read_text(encoding="utf-8") == DOCUMENT


def test_command_writes_the_csv(workplace: Path) -> None:
    assert main(["README.md", "--csv", "results/all.csv"]) == 0
    assert len((workplace / "results" / "all.csv").read_text().splitlines()) == 2


def test_csv(tmp_path: Path) -> None:
    results = [
        make_run(settings={"levers": ["gru", "ema"], "optimizer": {"lr": 0.5}}),
        make_run(seed=2, fold=0, metrics={"test/nll": 7.0}),
    ]
    write_csv(results, tmp_path / "runs.csv")
    with (tmp_path / "runs.csv").open(newline="") as file:
        first, second = csv.DictReader(file)
    assert list(first)[:7] == ["schema", "recipe", "architecture", "variant", "dataset", "split", "fold"]
    assert first["settings.levers"] == '["gru", "ema"]'
    assert (first["settings.optimizer.lr"], second["settings.optimizer.lr"]) == ("0.5", "")
    assert (first["fold"], second["fold"]) == ("", "0")
    assert (first["metrics.test/nll"], second["metrics.test/nll"]) == ("", "7.0")
    assert first["parameters.trainable"] == "1439405"
