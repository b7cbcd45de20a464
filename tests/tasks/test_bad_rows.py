"""With `--skip_bad` what is read and what is left out add up to the rows of the file, and without it each is an error.

A file is drawn row by row from good ones and from every kind of bad one. What is read must be the good ones, in order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxzoo.data.reading_notes import LEFT_OUT, collect_reading_notes
from ctxzoo.tasks.language_modelling.reader import read_lines
from ctxzoo.tasks.regression.reader import read_rows
from ctxzoo.tasks.text_classification.reader import read_texts
from ctxzoo.tasks.token_classification.reader import read_tokens


@dataclass(frozen=True)
class Case:
    """A kind of file.

    Attributes:
        name: Of the file.
        first: What stands before the rows.
        always: Rows that make the file readable, with two labels.
        good: Good rows, and what each is read as.
        bad: Bad rows.
        passed_over: Rows that are no error, with the note that counts them.
        read: Gives what the rows of a file are read as.
        between: Stands behind each row.
    """

    name: str
    first: str
    always: tuple[str, ...]
    good: dict[str, Any]
    bad: tuple[str, ...]
    read: Callable[[str], list[Any]]
    passed_over: tuple[str, str] | None = None
    between: str = "\n"


def texts(path: str, **options: Any) -> list[Any]:
    found = read_texts(path, **options)
    return [(row["text"], found.label_names[row["label"]]) for row in found.splits["train"]]


def known_texts(path: str) -> list[Any]:
    return texts(path, known_labels=["neg", "pos", "none of the file's"])


def lines(path: str) -> list[Any]:
    return list(read_lines(path).splits["train"]["text"])


def numbers(path: str) -> list[Any]:
    rows = read_rows(path, group_column="who").splits["train"]
    return [(*features, target) for features, target in zip(rows.features.tolist(), rows.targets.tolist(), strict=True)]


def tags(path: str) -> list[Any]:
    found = read_tokens(path)
    names = found.label_names
    return [(row["tokens"], [names[label] for label in row["labels"]]) for row in found.splits["train"].to_list()]


CASES = {
    "texts in columns": Case(
        *("a.csv", "text,label\n", ("one,pos", "two,neg")),
        good={"one,pos": ("one", "pos"), "two,neg": ("two", "neg")},
        bad=("  ,pos", "one,", "one", "one,pos,more", '"one,pos', '"o"ne,pos'),
        read=texts,
        passed_over=("", "empty lines, passed over"),
    ),
    "texts of a model's labels": Case(
        *("a.tsv", "label\ttext\n", ("pos\tone", "neg\ttwo")),
        good={"pos\tone": ("one", "pos"), "neg\ttwo": ("two", "neg")},
        bad=("Pos\tone", "{value}\tone", "\tone", "pos\t"),
        read=known_texts,
    ),
    "texts in JSON": Case(
        *("a.jsonl", "", ('{"text": "one", "label": "pos"}', '{"text": "two", "label": "neg"}')),
        good={'{"text": "one", "label": "pos", "more": 3}': ("one", "pos")},
        bad=('{"text": "one"}', '{"label": "pos"}', '{"text": " ", "label": "pos"}', "{", "[1]", '{"a": 1, "a": 2}'),
        read=texts,
    ),
    "lines": Case(
        *("a.jsonl", "", ('{"text": "one"}',)),
        good={'{"text": "one two"}': "one two"},
        bad=('{"text": 3}', "{}", '{"text": "␤"}', "half {"),
        read=lines,
        passed_over=('{"text": " "}', "blank lines, left out"),
    ),
    "numbers": Case(
        *("a.csv", "who,a,b\n", ("ann,1,2",)),
        good={"ann,3,4.5": (3.0, 4.5), "bob, 1e3 ,-1": (1000.0, -1.0)},
        bad=("ann,x,1", "ann,,1", ",1,2", "ann,nan,1", "ann,1,inf", "ann,1e40,1", "ann,1"),
        read=numbers,
    ),
    "tags in columns": Case(
        *("a.conll", "", ("a X\nb Y",)),
        good={"a X\nb X": (["a", "b"], ["X", "X"]), "c Y": (["c"], ["Y"])},
        bad=("a", "a X\nb Y Z", "a X\nb"),
        read=tags,
        between="\n\n",
    ),
    "tags in lists": Case(
        *("a.jsonl", "", ('{"tokens": ["a", "b"], "tags": ["X", "Y"]}',)),
        good={'{"tokens": ["c"], "tags": ["Y"]}': (["c"], ["Y"])},
        bad=(
            '{"tokens": [], "tags": []}',
            '{"tokens": ["a"], "tags": []}',
            '{"tokens": ["a b"], "tags": ["X"]}',
            '{"tokens": ["a"], "tags": [" "]}',
            '{"tokens": ["{a}", null], "tags": ["X", "X"]}',
            '{"tokens": ["a"]}',
            "{",
        ),
        read=tags,
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_what_is_read_and_left_out_adds_up(tmp_path: Path, case: Case) -> None:
    over, told = case.passed_over or (next(iter(case.good)), "")
    path = tmp_path / case.name

    def write(rows: Sequence[str]) -> None:
        path.write_text(case.first + "".join(f"{row}{case.between}" for row in (*case.always, *rows)))

    write([])
    before = case.read(str(path))

    @settings(max_examples=30, deadline=None, derandomize=True)
    @given(st.lists(st.sampled_from([*case.good, *case.bad, over]), max_size=10))
    def check(rows: list[str]) -> None:
        write(rows)
        bad = sum(row in case.bad for row in rows)
        with collect_reading_notes(skip_bad=True) as notes:
            found = case.read(str(path))
        counts = {name: count for name, count in notes.counts().items() if name in (LEFT_OUT, told)}
        assert found == before + [case.good[row] for row in rows if row in case.good]
        assert counts.get(LEFT_OUT, 0) == bad
        assert counts.get(told, 0) == (rows.count(over) if told else 0)
        assert len(before) + len(rows) == len(found) + sum(counts.values())
        if bad:
            with pytest.raises(ValueError, match=case.name) as error:
                case.read(str(path))
            assert "\n" not in str(error.value)

    check()
