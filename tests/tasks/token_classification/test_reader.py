from __future__ import annotations

from typing import Any

import datasets
import pyarrow as pa
import pytest

from ctxzoo.data.formats import TextFormatError
from ctxzoo.tasks.token_classification.reader import assign_rows_to_splits, check_tokens, read_tokens

SENTENCES = [["The", "dog", "barks"], ["No"]]
TAGS = [["DT", "NN", "VBZ"], ["UH"]]


def split(tokens: Any = SENTENCES, tags: Any = TAGS, **columns: Any) -> datasets.Dataset:
    return datasets.Dataset.from_dict({"tokens": tokens, "pos_tags": tags, **columns})


def test_tags_are_numbered_alike_in_all_splits():
    found = check_tokens({"train": split(), "test": split([["Run"]], [["VB"]])})
    assert found.label_names == ["DT", "NN", "UH", "VB", "VBZ"]
    assert found.splits["train"]["labels"][:] == [[0, 1, 4], [2]]
    assert found.splits["test"]["labels"][:] == [[3]]
    assert found.splits["train"]["tokens"][:] == SENTENCES


def test_the_column_of_tags_can_be_chosen_and_files_are_kept():
    data = split(upos=[["D", "N", "V"], ["X"]], file=["a", "b"])
    found = check_tokens({"train": data}, "upos")
    assert found.label_names == ["D", "N", "V", "X"]
    assert found.splits["train"]["file"][:] == ["a", "b"]
    assert check_tokens({"train": data}).label_names == ["DT", "NN", "UH", "VBZ"]  # pos_tags comes first
    assert set(check_tokens({"train": split()}).splits["train"].column_names) == {"tokens", "labels"}


def test_class_labels_keep_their_numbers():
    features = datasets.Features(
        {
            "tokens": datasets.List(datasets.Value("string")),
            "ner_tags": datasets.List(datasets.ClassLabel(names=["O", "NAME", "B"])),
        }
    )
    data = datasets.Dataset.from_dict({"tokens": SENTENCES, "ner_tags": [[0, 0, 1], [2]]}, features=features)
    found = check_tokens({"train": data})
    assert found.label_names == ["O", "NAME", "B"]
    assert found.splits["train"]["labels"][:] == [[0, 0, 1], [2]]


def test_a_selection_of_rows_is_read_alike():
    whole = check_tokens({"train": split()})
    twice = split(SENTENCES * 2, TAGS * 2).select([2, 3])
    assert check_tokens({"train": twice}).fingerprint == whole.fingerprint
    other = check_tokens({"train": split(tags=[["DT", "NN", "NN"], ["UH"]])})
    assert other.fingerprint != whole.fingerprint


LARGE, VIEWS = pa.large_list(pa.large_string()), pa.list_(pa.string_view())


@pytest.mark.parametrize("kinds", [(LARGE, LARGE), (VIEWS, VIEWS), (VIEWS, LARGE)])
def test_lists_of_every_type_are_lists(kinds):
    wide = pa.table(
        {
            name: pa.array(rows, kind)
            for (name, rows), kind in zip((("tokens", SENTENCES), ("pos_tags", TAGS)), kinds, strict=True)
        }
    )
    assert check_tokens({"train": datasets.Dataset(wide)}).splits["train"]["labels"][:] == [[0, 1, 3], [2]]


def test_tags_that_look_alike_are_told_and_one_tag_is_refused(caplog):
    check_tokens({"train": split(tags=[["DT", "nn", "VBZ"], ["NN"]])})
    told = "2 labels differ in blanks, case or leading zeros alone, 'NN', 'nn'; each counts as a label of its own"
    assert [record.getMessage() for record in caplog.records] == [f"the data: {told}"]
    with pytest.raises(TextFormatError, match="the data: the only tag is 'X'; expected two or more"):
        check_tokens({"train": split(tags=[["X", "X", "X"], ["X"]])})


@pytest.mark.parametrize(
    ("data", "tag_column", "message"),
    [
        (split([], []), None, "no rows; expected at least one sentence"),
        (split(), "tags", r"no column 'tags' for the tags; there are \['tokens', 'pos_tags'\]"),
        (split().rename_column("pos_tags", "t"), None, "no column of the usual names pos_tags, xpos, upos"),
        (split().rename_column("tokens", "words"), None, "no column 'tokens' for the words"),
        (split(["The dog", "No"]), None, "column 'tokens' has the type string; expected lists"),
        (split(tags=[[1, 2, 3], [4]]), None, "column 'pos_tags' holds int64; expected text"),
        (split([["a"], []], [["X"], []]), None, "row 1: the sentence has no word; leave the row out"),
        (split([["a", "b"], ["No"]]), None, "row 0: 2 words but 3 in 'pos_tags'; expected one for each word"),
        (split([["The", "", "x"], ["No"]]), None, "row 0: '' in column 'tokens'; expected a word without white space"),
        (split([["a", "b", "c"], ["N o"]]), None, "row 1: 'N o' in column 'tokens'"),
        (split([["a", "b", "c"], ["N\u00a0o"]]), None, r"row 1: 'N\\xa0o' in column 'tokens'"),
        (split([["a", "b", "c"], [None]]), None, "row 1: None in column 'tokens'"),
        (split(tags=[["DT", "NN", "VBZ"], [" "]]), None, "row 1: ' ' in column 'pos_tags'; expected a tag"),
        (split([["a", "b", "c"], None]), None, "row 1: nothing in column 'tokens'; leave the row out"),
    ],
)
def test_what_is_wrong_is_named(data: datasets.Dataset, tag_column: str | None, message: str) -> None:
    with pytest.raises(TextFormatError, match=f"some data, split 'train'.*{message}"):
        check_tokens({"train": data}, tag_column, origin="some data")


def test_a_folder_is_read_and_one_without_our_splits_is_not(tmp_path):
    split().to_parquet(tmp_path / "a" / "train.parquet")
    assert read_tokens(str(tmp_path / "a")).label_names == ["DT", "NN", "UH", "VBZ"]
    assert len(read_tokens("sample", tag_column="upos").label_names) == 10
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "README.md").write_text(
        "---\nconfigs:\n- config_name: default\n  data_files:\n  - split: dev\n    path: dev.parquet\n---\n"
    )
    split().to_parquet(tmp_path / "b" / "dev.parquet")
    with pytest.raises(TextFormatError, match=r"has the splits \['dev'\]; expected one of"):
        read_tokens(str(tmp_path / "b"))


def rows_of(**files: list[str]) -> dict[str, tuple[str, list[int]]]:
    splits = {name: datasets.Dataset.from_dict({"file": column}) for name, column in files.items()}
    return {name: (source, rows.tolist()) for name, (source, rows) in assign_rows_to_splits(splits).items()}


def test_splits_that_are_there_stay():
    found = rows_of(train=["a"] * 4, validation=["a"] * 2, test=["a"])
    assert found == {"train": ("train", [0, 1, 2, 3]), "validation": ("validation", [0, 1]), "test": ("test", [0])}
    assert rows_of(test=["a"] * 2) == {"test": ("test", [0, 1])}


def test_the_last_tenth_of_train_is_validation():
    found = rows_of(train=["a"] * 25, test=["b"])
    assert found["train"] == ("train", list(range(23)))
    assert found["validation"] == ("train", [23, 24])
    with pytest.raises(ValueError, match="train split has 9 sentences; a tenth of it is no validation"):
        rows_of(train=["a"] * 9, test=["b"])


def test_files_are_dealt_out_by_the_order_of_their_first_sentence():
    files = [f"f{number:02}" for number in reversed(range(20)) for _ in range(number % 3 + 1)]
    found = rows_of(train=[*files, "f19"])  # a sentence of the first file, far from the others
    parts = {name: [[*files, "f19"][row] for row in rows] for name, (source, rows) in found.items()}
    assert {source for source, _ in found.values()} == {"train"}
    assert set(parts["validation"]) == {"f11", "f01"}  # the ninth and the nineteenth
    assert set(parts["test"]) == {"f10", "f00"}
    assert len(set(parts["train"])) == 16
    assert sorted(row for _, rows in found.values() for row in rows) == list(range(len(files) + 1))
    assert len(files) in found["train"][1]


def test_a_validation_split_of_its_own_leaves_the_rest_to_train():
    found = rows_of(train=[f"f{number}" for number in range(10)], validation=["x"])
    assert found == {"train": ("train", list(range(9))), "validation": ("validation", [0]), "test": ("train", [9])}


def test_what_cannot_be_cut_stays_whole():
    assert rows_of(train=[f"f{number}" for number in range(9)]) == {"train": ("train", list(range(9)))}
    assert list(assign_rows_to_splits({"train": datasets.Dataset.from_dict({"tokens": [["a"]]})})) == ["train"]
    with pytest.raises(ValueError, match=r"no test split, only \['validation'\], and no train split"):
        rows_of(validation=["a"])
