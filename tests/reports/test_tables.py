"""Generated tables: what stands in a document is what the results files say, no more and no less."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from ctxzoo.hub.published import list_published_checkpoints
from ctxzoo.results.result import TRIALS, write_result
from reports import tables_hcrnn
from reports.tables import (
    TABLES,
    collect_tables,
    convert_to_csv,
    find_stale_tables,
    main,
    read_trials,
    render_csv_files,
    render_tables,
    write_csv,
)
from tests.support.committed_results import committed_results
from tests.support.result_tables import make_run

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = "# Title\n\n<!-- table: bidaf-squad-v1-mini -->\n<!-- /table: bidaf-squad-v1-mini -->\n\nAfter.\n"


def test_documents_agree_with_results() -> None:
    documents = [ROOT / "README.md", ROOT / "recipes" / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    results = list(committed_results()) if (ROOT / "results").is_dir() else []
    runs = results, read_trials(ROOT / "results"), list_published_checkpoints(ROOT)
    stale = {
        str(path.relative_to(ROOT)): names
        for path in documents
        if (names := find_stale_tables(path.read_text("utf-8"), *runs))
    }
    for path in documents:
        for name, content in render_csv_files(path.read_text("utf-8"), *runs).items():
            file = path.parent / name
            if not file.is_file() or file.read_text("utf-8") != content:
                stale[str(file.relative_to(ROOT))] = [name]
    assert not stale, f"run python -m reports.tables on them: {stale}"


def test_tables_of_choices_are_made_from_trials_alone(tmp_path: Path) -> None:
    result, trial = make_run(), make_run(split="validation", metrics={"validation/exact": 30.0})
    write_result(result, tmp_path)
    write_result(trial, tmp_path / TRIALS)
    (tmp_path / "page.md").write_text("<!-- table: bidaf-reader-trials -->\n<!-- /table: bidaf-reader-trials -->\n")
    assert main([str(tmp_path / "page.md"), "--results", str(tmp_path)]) == 0
    assert "| baseline |" in (tmp_path / "page.md").read_text()
    assert main([str(tmp_path / "page.md"), "--results", str(tmp_path), "--check"]) == 0
    (tmp_path / TRIALS / "squad_bidaf" / "baseline-squad_v1_mini-validation-seed1.json").unlink()
    assert main([str(tmp_path / "page.md"), "--results", str(tmp_path), "--check"]) == 1


def test_a_document_agrees_only_with_the_results_it_was_made_from() -> None:
    results = [make_run(seed=1, f1=40.0), make_run(seed=2, f1=42.0)]
    text = render_tables(DOCUMENT, results)
    assert text.startswith("# Title\n\n<!-- table: bidaf-squad-v1-mini -->\n\n| model |")
    assert text.endswith("\n\n<!-- /table: bidaf-squad-v1-mini -->\n\nAfter.\n")
    assert find_stale_tables(text, results) == []
    assert render_tables(text, results) == text
    assert find_stale_tables(text, results[:1]) == ["bidaf-squad-v1-mini"]
    assert find_stale_tables(text.replace("41.00", "41.01"), results) == ["bidaf-squad-v1-mini"]
    assert find_stale_tables(DOCUMENT, results) == ["bidaf-squad-v1-mini"]


def test_rows_without_a_result_and_commands_are_left_out_on_request() -> None:
    name = "word-embedding-downstream, finished rows"
    text = f"<!-- table: {name} -->\n<!-- /table: {name} -->\n"
    results = [run for run in committed_results() if "skip_gram" not in run.variant]
    whole = TABLES["word-embedding-downstream"](results)
    assert "| Skip-gram | not run yet" in whole
    assert "```bash" in whole
    shown = render_tables(text, results)
    assert "Skip-gram" not in shown
    assert "```" not in shown
    kept = [line for line in whole.splitlines() if line.startswith("|") and "not run yet" not in line]
    assert [line for line in shown.splitlines() if line.startswith("|")] == kept
    assert find_stale_tables(shown, results) == []


def test_every_table_renders_with_and_without_results() -> None:
    results = [make_run(), make_run("learned_char7", settings={"extensions": ["ema"]})]
    for name in TABLES:
        text = f"<!-- table: {name} -->\nold\n<!-- /table: {name} -->\n"
        for given in ([], results):
            assert find_stale_tables(render_tables(text, given), given) == []
            assert len(TABLES[name](given).splitlines()) > 2


def test_two_tables_of_one_name_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(tables_hcrnn.TABLES, "overview", str)
    with pytest.raises(ValueError, match=r"two tables are called overview, one in reports/tables_overview\.py"):
        collect_tables("TABLES")


def test_several_tables_of_one_document_keep_their_places() -> None:
    names = list(TABLES)
    text = "".join(f"before {name}\n<!-- table: {name} -->\n<!-- /table: {name} -->\n" for name in names) + "end\n"
    made = render_tables(text, [make_run()])
    plain = [line for line in made.splitlines() if line.startswith(("before", "<!--", "end"))]
    assert plain == text.splitlines()
    assert find_stale_tables(made.replace("60.55", "66.55"), [make_run()]) == ["bidaf-paper"]


def test_a_table_may_be_a_file_beside_its_document(workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "<!-- table: bidaf-paper.csv -->\n[numbers](bidaf-paper.csv)\n"
    (workplace / "page.md").write_text(text)
    assert main(["page.md", "--check"]) == 1
    assert "bidaf-paper.csv: bidaf-paper disagree with results" in capsys.readouterr().out
    assert main(["page.md"]) == 0
    assert (workplace / "page.md").read_text() == text
    with (workplace / "bidaf-paper.csv").open(newline="") as file:
        found = list(csv.DictReader(file))
    assert (found[5]["model"], found[5]["paper F1"], len(found)) == ("learned_char7", "64.57", 8)
    assert main(["page.md", "--check"]) == 0
    (workplace / "bidaf-paper.csv").write_text("model\n")
    assert main(["page.md", "--check"]) == 1
    with pytest.raises(ValueError, match="unknown table 'other'"):
        render_csv_files("<!-- table: other.csv -->\n", [])


def test_a_table_as_csv_has_its_cells_without_signs_of_markdown_or_commands() -> None:
    table = "| a | b, c |\n| --- | ---: |\n| x \\| y |  |\n| 1 | 2 |\n\n```bash\n| no |\n```"
    assert convert_to_csv(table) == 'a,"b, c"\nx | y,\n1,2\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<!-- table: other -->\n<!-- /table: other -->\n", "unknown table 'other'"),
        ("<!-- table: bidaf-paper -->\n", "not closed"),
        ("<!-- /table: bidaf-paper -->\n", "does not follow its opening"),
        ("<!-- table: bidaf-paper -->\n<!-- table: bidaf-extensions -->\n", "does not follow a closed"),
        ("<!-- table: bidaf-paper -->\n<!-- /table: bidaf-extensions -->\n", "does not follow its opening"),
        ("<!-- table: bidaf-paper -->\n<!-- /table: bidaf-paper -->\n" * 2, "occurs twice"),
    ],
)
def test_broken_markers(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        render_tables(text, [])
    with pytest.raises(ValueError, match=message):
        find_stale_tables(text, [])


def test_a_document_without_tables_is_left_alone() -> None:
    text = "Write `<!-- table: NAME -->` on a line of its own.\n"
    assert render_tables(text, []) == text


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
    assert (workplace / "README.md").read_text(encoding="utf-8") == render_tables(DOCUMENT, [make_run()])
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
        make_run(settings={"extensions": ["gru", "ema"], "optimizer": {"lr": 0.5}}),
        make_run(seed=2, fold=0, metrics={"test/nll": 7.0}),
    ]
    write_csv(results, tmp_path / "runs.csv")
    with (tmp_path / "runs.csv").open(newline="") as file:
        first, second = csv.DictReader(file)
    assert list(first)[:7] == ["schema", "recipe", "architecture", "variant", "dataset", "split", "fold"]
    assert first["settings.extensions"] == '["gru", "ema"]'
    assert (first["settings.optimizer.lr"], second["settings.optimizer.lr"]) == ("0.5", "")
    assert (first["fold"], second["fold"]) == ("", "0")
    assert (first["metrics.test/nll"], second["metrics.test/nll"]) == ("", "7.0")
    assert first["parameters.trainable"] == "1439405"
