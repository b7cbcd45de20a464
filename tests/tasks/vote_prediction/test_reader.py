from __future__ import annotations

from pathlib import Path
from typing import Any

import datasets
import pytest

from ctxzoo.data.formats import TextFormatError
from ctxzoo.data.sources import DatasetFileError
from ctxzoo.tasks.vote_prediction import reader
from ctxzoo.tasks.vote_prediction.reader import VoteColumns, VoteSplits, read_votes

pytestmark = pytest.mark.usefixtures("own_cache")

ROWS = "legislator,bill,vote\nBo,b2,1\nAl,b2,0\nAl,b10,1\n"


def written(path: Path, text: str) -> str:
    path.write_text(text)
    return str(path)


def as_sample(patch: pytest.MonkeyPatch, texts: dict[str, str] | None = None, **splits: str) -> None:
    """Make these votes, each "who bill vote", those of "sample"."""
    tables = {}
    for name, votes in splits.items():
        legislators, bills, yeas = zip(*map(str.split, votes.split(", ")), strict=True)
        columns = {"legislator": legislators, "bill": bills, "vote": [int(yea) for yea in yeas]}
        tables[name] = datasets.Dataset.from_dict({**columns, "text": [(texts or {}).get(bill, "") for bill in bills]})
    patch.setattr(reader, "sample_votes", lambda: tables)


def cells(data: VoteSplits, split: str = "train") -> dict[tuple[str, str], int]:
    votes = data.splits[split]
    return {
        (data.legislators[u], data.bills[d]): v
        for u, d, v in zip(votes.legislators.tolist(), votes.bills.tolist(), votes.votes.tolist(), strict=True)
    }


def test_a_long_table(tmp_path: Path) -> None:
    expected = {("Bo", "b2"): 1, ("Al", "b2"): 0, ("Al", "b10"): 1}
    data = read_votes(written(tmp_path / "a.csv", ROWS))
    assert cells(data) == expected
    assert data.legislators == ["Al", "Bo"]
    assert data.texts == ["", ""]
    named = ROWS.replace("legislator,bill,vote", "who,what,says")
    columns = VoteColumns(legislator="who", bill="what", vote="says")
    assert cells(read_votes(written(tmp_path / "b.csv", named), columns=columns)) == expected
    true = ROWS.replace(",1\n", ",true\n").replace(",0\n", ",false\n")
    assert cells(read_votes(written(tmp_path / "c.csv", true))) == expected
    tabs = written(tmp_path / "d.tsv", ROWS.replace(",", "\t"))
    assert cells(read_votes(tabs)) == expected


def test_a_long_table_of_parquet(tmp_path: Path) -> None:
    """Its columns have types: numbers are names too, booleans votes, and a text may be missing."""
    columns = {"legislator": ["Bo", "Al", "Al"], "bill": [2, 2, 10], "vote": [True, False, True]}
    table = datasets.Dataset.from_dict({**columns, "text": ["a road", "a road", None], "party": ["x", None, None]})
    table.to_parquet(tmp_path / "a.parquet")
    data = read_votes(str(tmp_path / "a.parquet"))
    assert cells(data) == {("Bo", "2"): 1, ("Al", "2"): 0, ("Al", "10"): 1}
    assert (data.bills, data.texts) == (["2", "10"], ["a road", ""])
    assert (data.legislators, data.groups) == (["Al", "Bo"], ["", "x"])
    datasets.Dataset.from_dict({"bill": [10, 2], "text": ["a sea", None]}).to_parquet(tmp_path / "texts.parquet")
    assert read_votes(str(tmp_path / "a.parquet"), texts=str(tmp_path / "texts.parquet")).texts == ["", "a sea"]
    table.remove_columns("vote").to_parquet(tmp_path / "b.parquet")
    with pytest.raises(TextFormatError, match="no column 'vote'"):
        read_votes(str(tmp_path / "b.parquet"))
    written(tmp_path / "c.parquet", ROWS)
    with pytest.raises(DatasetFileError, match=r"c\.parquet cannot be read"):
        read_votes(str(tmp_path / "c.parquet"))


def test_texts_in_a_file_of_their_own(tmp_path: Path) -> None:
    texts = written(tmp_path / "texts.csv", 'bill,text\nb2,"Roads, and bridges"\nb7,Seas\n')
    data = read_votes(written(tmp_path / "a.csv", ROWS), texts=texts)
    assert dict(zip(data.bills, data.texts, strict=True)) == {"b2": "Roads, and bridges", "b10": ""}
    with pytest.raises(DatasetFileError, match="expected a table with the columns of bills and of texts"):
        read_votes(str(tmp_path / "a.csv"), texts=str(tmp_path / "none.csv"))
    other = written(tmp_path / "other.csv", "bill,says\nb2,x\n")
    with pytest.raises(TextFormatError, match=r"other\.csv: no column 'text'"):
        read_votes(str(tmp_path / "a.csv"), texts=other)


def chamber(folder: Path, further: dict[str, list[Any]] | None = None, **bills: list[Any]) -> str:
    """A dataset of ids with tables of bills and legislators, whose columns `bills` and `further` may change."""
    folder.mkdir()
    splits = "".join(f"  - split: {name}\n    path: {name}.parquet\n" for name in ("train", "test"))
    tables = "".join(
        f"- config_name: {name}\n  data_files:\n  - split: train\n    path: {name}.parquet\n"
        for name in ("bills", "legislators")
    )
    (folder / "README.md").write_text(
        f"---\nconfigs:\n- config_name: votes\n  default: true\n  data_files:\n{splits}{tables}---\n"
    )
    votes = {"legislator_id": [0, 1, 0], "bill_id": [5, 5, 6], "vote": [1, 0, 1]}
    datasets.Dataset.from_dict(votes).to_parquet(folder / "train.parquet")
    votes = {"legislator_id": [1], "bill_id": [6], "vote": [1]}
    datasets.Dataset.from_dict(votes).to_parquet(folder / "test.parquet")
    people = {
        "legislator_id": [0, 1],
        "name": ["Ann", "Ann"],
        "party": ["Red", "Red"],
        "state": ["X", "X"],
        "nominate_dim1": [0.1, 0.2],
        **(further or {}),
    }
    datasets.Dataset.from_dict(people).to_parquet(folder / "legislators.parquet")
    columns: dict[str, list[Any]] = {"bill_id": [5, 6], "text": ["a road", None], "yea_count": [1, 2], **bills}
    datasets.Dataset.from_dict(columns).to_parquet(folder / "bills.parquet")
    return str(folder)


def test_ids_get_names_texts_and_parties(tmp_path: Path) -> None:
    data = read_votes(chamber(tmp_path / "a"))
    assert data.legislators == ["Ann (R, X) [0]", "Ann (R, X) [1]"]
    assert data.groups == ["Red", "Red"]
    assert (data.bills, data.texts) == (["5", "6"], ["a road", ""])
    assert cells(data, "test") == {("Ann (R, X) [1]", "6"): 1}


def test_ids_without_a_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TextFormatError, match="split 'train', row 2: bill_id 6 is in no table of its names"):
        read_votes(chamber(tmp_path / "unknown", bill_id=[5, 7]))
    folder = Path(chamber(tmp_path / "textless"))
    datasets.Dataset.from_dict({"bill_id": [5, 6]}).to_parquet(folder / "bills.parquet")
    with pytest.raises(TextFormatError, match=r"configuration 'bills'.*expected 'text'"):
        read_votes(str(folder))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("who,bill,vote\nA,b,1\n", r"no column 'legislator'; there are \['who', 'bill', 'vote'\]"),
        ("legislator,bill,vote\nA,b,-1\n", "row 0: the vote is -1; expected 1 for yea and 0 for nay"),
        ("legislator,bill,vote\nA,b,1\nA,c,2\n", "row 1: the vote is 2"),
        ("legislator,bill,vote\nA,b,yes\n", "votes are 'yes' and the like; expected 1 for yea"),
        ("legislator,bill,vote\nA,b,\nB,b,1\n", "row 0: nothing in 'vote'"),
        ("legislator,bill,vote\nA,b,1\nA,b,0\n", "row 1: 'A' votes a second time on 'b'"),
        ("legislator,bill,vote\n", "no rows; expected at least one vote"),
    ],
)
def test_votes_that_cannot_be(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(TextFormatError, match=message):
        read_votes(written(tmp_path / "a.csv", text))


def test_files_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(DatasetFileError, match=r"a\.json is no \.csv, \.tsv, \.parquet file"):
        read_votes(written(tmp_path / "a.json", "{}"))


def test_the_same_vote_in_two_splits_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else its outcome would be known where it is to be predicted."""
    as_sample(monkeypatch, train="Al b1 1, Bo b1 0", validation="Al b2 1", test="Bo b2 0, Al b1 0")
    with pytest.raises(TextFormatError, match=r"split 'test', row 1: 'Al' votes a second time on 'b1'"):
        read_votes("sample")
