from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import datasets
import pandas as pd
import pyarrow as pa
import pytest

from ctxzoo.data.formats import DatasetFileError, TextFormatError
from ctxzoo.data.reading_notes import collect_reading_notes
from ctxzoo.tasks.vote_prediction import reader
from ctxzoo.tasks.vote_prediction.reader import VoteColumns, VoteSplits, check_votes, read_votes

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
    lines = [dict(zip(ROWS.splitlines()[0].split(","), row.split(","), strict=True)) for row in ROWS.splitlines()[1:]]
    rows = "".join(json.dumps({**line, "vote": int(line["vote"])}) + "\n" for line in lines)
    assert cells(read_votes(written(tmp_path / "c.jsonl", rows))) == expected
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


def test_texts_of_several_columns(tmp_path: Path) -> None:
    rows = "legislator,bill,vote,title,says\nBo,b1,1,A road,to the sea\nAl,b1,0,A road,to the sea\nAl,b2,1,,Seas\n"
    columns = VoteColumns(text=("title", "says"))
    votes = written(tmp_path / "a.csv", rows)
    assert read_votes(votes, columns=columns).texts == ["A road\nto the sea", "Seas"]
    texts = written(tmp_path / "texts.csv", "bill,says,title\nb1,to the hill,A path\n")
    bare = written(tmp_path / "b.csv", ROWS)
    assert read_votes(votes, columns=columns, texts=texts).texts == ["A path\nto the hill", "Seas"]
    assert read_votes(bare, columns=columns).texts == ["", ""]
    with pytest.raises(TextFormatError, match=r"a\.csv: no column 'name' of texts; there are"):
        read_votes(votes, columns=VoteColumns(text=("title", "name")))


SPELLED = [
    (("Yea", "Nay"), ("YES", "no"), (" aye ", "No"), ("True", "FALSE"), ("1.0", "0.0"), ("y", "N")),
    ((1, 0), (1.0, 0.0), (True, False)),
]


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
def test_a_vote_is_read_in_any_usual_spelling(tmp_path: Path, kind: str) -> None:
    pairs = SPELLED[0] if kind == "csv" else sum(SPELLED, ())
    for number, (yea, nay) in enumerate(pairs):
        columns = {"legislator": ["Bo", "Al", "Cy"], "bill": ["007", "7", "7"], "vote": [yea, nay, None]}
        table = pd.DataFrame({**columns, "vote": pd.Series(columns["vote"], dtype=object)})
        file = tmp_path / f"{number}.{kind}"
        if kind == "csv":
            table.to_csv(file, index=False)
        elif kind == "parquet":
            table.assign(vote=pa.array(columns["vote"]).to_pandas()).to_parquet(file)
        else:
            table.to_json(file, orient="records", lines=True)
        with collect_reading_notes() as notes:
            assert cells(read_votes(str(file))) == {("Bo", "007"): 1, ("Al", "7"): 0}
        assert notes.counts() == {"rows without a yea or nay, left out": 1}


@pytest.mark.parametrize("column", ["vote", "cast_code"])
def test_cast_codes_of_voteview(tmp_path: Path, column: str) -> None:
    codes = "".join(f"L{code},b,{code}\n" for code in range(10))
    file = written(tmp_path / "a.csv", f"legislator,bill,{column}\n{codes}")
    with collect_reading_notes() as notes:
        found = cells(read_votes(file, columns=VoteColumns(vote=column)))
    assert found == {(f"L{code}", "b"): int(code < 4) for code in range(1, 7)}
    assert list(notes.counts().values()) == [6, 4]
    single = written(tmp_path / "b.csv", "legislator,bill,cast_code\nA,b,1\nB,b,0\n")
    assert cells(read_votes(single, columns=VoteColumns(vote="cast_code"))) == {("A", "b"): 1}


def test_what_is_left_out_and_merged_adds_up_to_the_rows(tmp_path: Path) -> None:
    """3 bad rows, 2 without a vote, 4 repeated; 3 kept."""
    bad = ["A,,1", ",b1,1", "A,b9,maybe"]
    rows = ["A,b1,yea", *bad, "A,b1,1", "B,b1,nay", "A,b1,YES", "B,b1,no", "C,b1,", "C,b2,NA", "C,b3,yea", "B,b1,0"]
    file = written(tmp_path / "a.csv", "legislator,bill,vote\n" + "\n".join(rows) + "\n")
    with pytest.raises(TextFormatError):
        read_votes(file)
    with collect_reading_notes(skip_bad=True) as notes:
        data = read_votes(file)
    assert cells(data) == {("A", "b1"): 1, ("B", "b1"): 0, ("C", "b3"): 1}
    assert notes.counts() == {
        "left out as bad": 3,
        "rows without a yea or nay, left out": 2,
        "repeated votes, read once": 4,
    }
    assert 3 + sum(notes.counts().values()) == len(rows)


def test_a_bill_has_one_text_and_a_legislator_one_party(tmp_path: Path) -> None:
    rows = ("A,b1,1,,Red", "B,b1,0,a road,Blue", "C,b1,0,a sea,Blue", "A,b2,1,,Blue", "B,b2,1,,")
    with collect_reading_notes() as notes:
        data = read_votes(written(tmp_path / "a.csv", "legislator,bill,vote,text,party\n" + "\n".join(rows)))
    assert (data.texts, data.groups) == (["a road", ""], ["Red", "Blue", "Blue"])
    assert notes.counts() == {
        "legislators with several parties, of which the first is read": 1,
        "bills with several texts, of which the first is read": 1,
    }
    again = check_votes({"train": data.build_table("train")})
    assert (again.texts, again.groups, cells(again)) == (data.texts, data.groups, cells(data))


def test_texts_that_fit_no_bill_are_an_error_and_others_are_counted(tmp_path: Path) -> None:
    votes = written(tmp_path / "a.csv", ROWS)
    other = written(tmp_path / "other.csv", "bill,text\nB2,a road\n10,a sea\n")
    with pytest.raises(TextFormatError, match=r"other.csv: none of its 2 bills, such as 'B2', .* such as 'b10'"):
        read_votes(votes, texts=other)
    two = written(tmp_path / "two.csv", "bill,text\nb2,a road\nb2,a sea\n")
    with pytest.raises(TextFormatError, match="row 1: a second text of the bill 'b2'"):
        read_votes(votes, texts=two)
    some = written(tmp_path / "some.csv", "bill,text\nb2,a road\nb2,a road\nb3,a sea\nb4,\n")
    with collect_reading_notes() as notes:
        assert read_votes(votes, texts=some).texts == ["", "a road"]
    assert notes.counts() == {
        "repeated texts of a bill, read once": 1,
        "bills of the votes without a text in it": 1,
        "texts of bills that nobody votes on, left out": 2,
    }


SHAPED = pd.DataFrame(
    {
        "legislator": ["Bo, Jr.", 'Al "X"', 'Al "X"'],
        "bill": ["007", "7", "10"],
        "vote": ["Yea", "Nay", "Yea"],
        "text": ["a road", "a sea, and more", "a\nlake"],
        "party": ["Red", "Blue", "Blue"],
    }
)


def in_shape(shape: str, folder: Path) -> str:
    """The votes of `SHAPED` as a file, or a folder of one, of a shape in which people have them."""
    name = {"tsv": "a.tsv", "jsonl": "a.jsonl", "parquet": "a.parquet", "gz": "a.csv.gz"}.get(shape, "a.csv")
    if shape == "folder":
        folder, name = folder / "votes", "train.csv"
        folder.mkdir()
    file = folder / name
    if shape == "jsonl":
        SHAPED.to_json(file, orient="records", lines=True)
    elif shape == "parquet":
        SHAPED.to_parquet(file)
    else:
        SHAPED.to_csv(
            file,
            index=False,
            header=shape != "no_header",
            sep="\t" if shape == "tsv" else ",",
            lineterminator="\r\n" if shape == "crlf" else "\n",
            encoding="utf-8-sig" if shape == "mark" else "utf-8",
        )
    return str(folder if shape == "folder" else file)


@pytest.mark.parametrize("shape", ["csv", "tsv", "crlf", "mark", "gz", "no_header", "jsonl", "parquet", "folder"])
def test_votes_of_any_shape_are_the_same(tmp_path: Path, shape: str) -> None:
    with collect_reading_notes(no_header=shape == "no_header"):
        data = read_votes(in_shape(shape, tmp_path))
    assert cells(data) == {("Bo, Jr.", "007"): 1, ('Al "X"', "7"): 0, ('Al "X"', "10"): 1}
    texts = dict(zip(SHAPED["bill"], SHAPED["text"], strict=True))
    assert {bill: text.replace("\r", "") for bill, text in zip(data.bills, data.texts, strict=True)} == texts
    assert dict(zip(data.legislators, data.groups, strict=True)) == {"Bo, Jr.": "Red", 'Al "X"': "Blue"}


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
    with pytest.raises(TextFormatError, match="bill_id 5 stands twice in the table of its names"):
        read_votes(chamber(tmp_path / "twice", bill_id=[5, 5]))
    with pytest.raises(TextFormatError, match="has a table of bills with their texts; leave `texts` out"):
        read_votes(chamber(tmp_path / "both"), texts="texts.csv")
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
        ("legislator,bill,vote\nA,b,-1\n", "row 0: the vote is '-1'; expected yea or nay, yes or no"),
        ("legislator,bill,vote\nA,b,1\nA,c,2\n", "row 1: the vote is '2'"),  # 1 yea and 2 nay is no cast code
        ("legislator,bill,vote\nA,b,yes\nA,c,maybe\n", "row 1: the vote is 'maybe'"),
        ("legislator,bill,vote\nA,b,\nB,b,NA\n", "no row has a vote in 'vote'"),
        ("legislator,bill,vote\nA,b,1\nA,,1\n", "row 1: nothing in 'bill'; fill it in or leave the row out"),
        ("legislator,bill,vote\nA,b,1\nB,b,1\nA,b,0\n", "row 2: 'A' votes a second time on 'b', .* yea in row 0"),
        ("legislator,bill,vote\n", "no rows; expected at least one vote"),
    ],
)
def test_votes_that_cannot_be(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(TextFormatError, match=message):
        read_votes(written(tmp_path / "a.csv", text))


def test_files_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(DatasetFileError, match=r"a\.json is no \.csv, \.tsv, \.jsonl, \.parquet"):
        read_votes(written(tmp_path / "a.json", "{}"))


def test_the_same_vote_in_two_splits_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else its outcome would be known where it is to be predicted."""
    as_sample(monkeypatch, train="Al b1 1, Bo b1 0", validation="Al b2 1", test="Bo b2 0, Al b1 0")
    with pytest.raises(TextFormatError, match=r"split 'test', row 1: 'Al' votes a second time on 'b1'"):
        read_votes("sample")
