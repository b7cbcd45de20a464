from __future__ import annotations

import json

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ctxzoo.data.formats import DatasetFileError, TextFormatError
from ctxzoo.data.reading_notes import collect_reading_notes
from ctxzoo.data.sources import DatasetUnavailableError, dataset_fingerprint
from ctxzoo.tasks.text_classification.reader import check_texts, load_texts, read_texts


@pytest.fixture(autouse=True)
def _nothing_of_the_user(own_cache, monkeypatch, request):
    if "data" not in request.keywords:
        monkeypatch.delenv("CTXZOO_DATA", raising=False)


def split(**columns) -> datasets.Dataset:
    return datasets.Dataset.from_dict(columns)


def rows(found: datasets.Dataset) -> list[tuple[str, int]]:
    return list(zip(found["text"], found["label"], strict=True))


def written(tmp_path, name: str, content: str) -> str:
    (tmp_path / name).write_text(content, encoding="utf-8")
    return str(tmp_path / name)


def test_the_sample():
    found = read_texts("sample")
    assert {name: len(split) for name, split in found.splits.items()} == {"train": 2000, "validation": 300, "test": 300}
    assert found.label_names == ["negative", "positive"]
    text, label = datasets.Value("string"), datasets.Value("int64")
    for name, data in found.splits.items():
        assert data.features == {"text": text, "label": label}
        assert found.fingerprint[name] == dataset_fingerprint(data)


def test_a_folder_keeps_its_three_splits_and_the_names_of_its_class_labels(tmp_path):
    features = datasets.Features(
        {
            "id": datasets.Value("int32"),
            "text": datasets.Value("large_string"),
            "label": datasets.ClassLabel(names=["no", "yes"]),
        }
    )
    for name in ("train", "validation", "test", "unsupervised"):
        label = -1 if name == "unsupervised" else 1
        data = datasets.Dataset.from_dict({"id": [1, 2], "text": [f"{name} a", "b"], "label": [label, 0]}, features)
        (tmp_path / "d").mkdir(exist_ok=True)
        data.to_parquet(str(tmp_path / "d" / f"{name}.parquet"))
    files = "".join(
        f"  - split: {name}\n    path: {name}.parquet\n" for name in ("train", "validation", "test", "unsupervised")
    )
    written(tmp_path, "d/README.md", f"---\nconfigs:\n- config_name: default\n  data_files:\n{files}---\n")
    found = read_texts(str(tmp_path / "d"))
    assert set(found.splits) == {"train", "validation", "test"}
    assert found.label_names == ["no", "yes"]
    assert rows(found.splits["test"]) == [("test a", 1), ("b", 0)]


CSV = 'text,label,stars\n"one, two",1,5\n"say ""x""\nand more",0,1\n1990,1,3\nNA,0,2\n'
TSV = 'text\tlabel\none, two\t1\n"say ""x""\nand more"\t0\n1990\t1\nNA\t0\n'
CSV_ROWS = [("one, two", 1), ('say "x"\nand more', 0), ("1990", 1), ("NA", 0)]


def test_files_are_the_split_train(tmp_path):
    files = [
        written(tmp_path, "a.csv", CSV),
        written(tmp_path, "b.tsv", TSV),
        written(tmp_path, "c.jsonl", "\n".join(json.dumps({"text": text, "label": label}) for text, label in CSV_ROWS)),
    ]
    split(text=[text for text, _ in CSV_ROWS], label=[label for _, label in CSV_ROWS]).to_parquet(
        str(tmp_path / "d.parquet")
    )
    for file in [*files, str(tmp_path / "d.parquet")]:
        found = read_texts(file)
        assert list(found.splits) == ["train"]
        assert rows(found.splits["train"]) == CSV_ROWS, file
        assert found.label_names == ["0", "1"]


def test_a_column_of_numbers_can_be_the_text(tmp_path):
    file = written(tmp_path, "a.csv", "question,answer\n12,1\n7,0\n")
    found = read_texts(file, text_column="question", label_column="answer")
    assert rows(found.splits["train"]) == [("12", 1), ("7", 0)]


def test_usual_names_of_columns_and_names_given():
    data = {"train": split(sentence=["a", "b"], idx=[1, 2], labels=[0, 1], topic=["x", "y"])}
    assert rows(check_texts(data).splits["train"]) == [("a", 0), ("b", 1)]
    by_topic = check_texts(data, label_column="topic")
    assert (rows(by_topic.splits["train"]), by_topic.label_names) == ([("a", 0), ("b", 1)], ["x", "y"])


def test_names_are_numbered_in_order_over_all_splits():
    found = check_texts({"train": split(text=["1", "2"], label=["z", "b"]), "test": split(text=["3"], label=["a"])})
    assert found.label_names == ["a", "b", "z"]
    assert rows(found.splits["train"]) == [("1", 2), ("2", 1)]
    assert rows(found.splits["test"]) == [("3", 0)]


def test_numbers_take_their_names_from_label_text():
    data = {
        "train": split(text=["1", "2"], label=[1, 0], label_text=["good", "bad"]),
        "test": split(text=["3"], label=[1], label_text=["good"]),
    }
    assert check_texts(data).label_names == ["bad", "good"]
    data["test"] = split(text=["3"], label=[1], label_text=["fine"])
    with pytest.raises(TextFormatError, match="split 'test', row 0: label_text 'fine' for label 1, which is 'good'"):
        check_texts(data)
    data["train"] = data["test"] = split(text=["1", "2"], label=[1, 0], label_text=["same", "same"])
    with pytest.raises(TextFormatError, match=r"gives the names \['same', 'same'\]; expected different ones"):
        check_texts(data)


def test_integers_of_any_width_agree():
    narrow = datasets.Features({"text": datasets.Value("string"), "label": datasets.Value("int8")})
    data = {
        "train": datasets.Dataset.from_dict({"text": ["a", "b"], "label": [0, 1]}, narrow),
        "test": split(text=["c"], label=[1]),
    }
    assert rows(check_texts(data).splits["train"]) == [("a", 0), ("b", 1)]


def test_the_fingerprint_follows_texts_and_labels_alone():
    base = split(text=["a", "b"], label=[0, 1])
    same = split(id=[7, 8], sentence=["a", "b"], label=[0, 1])
    assert check_texts({"x": base}).fingerprint == check_texts({"x": same}).fingerprint
    for other in (split(text=["a", "c"], label=[0, 1]), split(text=["a", "b"], label=[1, 0])):
        assert check_texts({"x": base}).fingerprint != check_texts({"x": other}).fingerprint


CLASSES = datasets.Features({"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["n", "p"])})


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (split(text=["a", None], label=[0, 1]), "split 'train', row 1: no text in column 'text'"),
        (split(text=["a", " \n"], label=[0, 1]), r"split 'train', row 1: the text in column 'text' is empty: ' \\n'"),
        (split(text=["a", "b"], label=[0, None]), "row 1: no label in column 'label'"),
        (split(text=["a", "b"], label=["x", ""]), "row 1: the label in column 'label' is empty: ''"),
        (split(text=["a", "b"], label=[0, -1]), "row 1: label -1 in column 'label'; expected 0 or more"),
        (split(text=["a", "b", "c"], label=[0, 1, 3]), "labels are 0, 1, 3; expected 0..L-1, but no row has 2"),
        (split(text=["a", "b"], label=[1, 2]), "labels are 1, 2; expected 0..L-1, but no row has 0"),
        (split(text=["a", "b"], label=[0.5, 1.0]), r"column 'label' has the type double \(row 0: 0.5\)"),
        (
            split(text=["a", "b"], label=[{"is": 0}, {"is": 1}]),
            r"column 'label' has the type struct.*\(row 0: \{'is': 0\}\)",
        ),
        (split(text=[1, 2], label=[0, 1]), "column 'text' has the type int64; expected text"),
        (split(text=["a", "b"], label=[0, 0]), "the only label is '0'; expected two or more"),
        (
            split(body=["a"], label=[0]),
            r"no column of the usual names text, sentence.*rename one of \['body', ",
        ),
        (
            split(text=["a"], stars=[0]),
            r"no column of the usual names label.*rename one of \['text', 'stars'\] .or set `label_column`",
        ),
        (split(text=[], label=[]), "split 'train': no rows"),
        (
            datasets.Dataset.from_dict({"text": ["a", "b"], "label": [0, -1]}, CLASSES),
            r"row 1: label -1 in column 'label'; expected 0\.\.1 for \['n', 'p'\]",
        ),
    ],
)
def test_bad_rows_and_columns(data, message):
    with pytest.raises(TextFormatError, match=message):
        check_texts({"train": data})


def test_a_column_that_is_not_there():
    data = {"train": split(text=["a", "b"], label=[0, 1])}
    with pytest.raises(TextFormatError, match=r"no column 'txt' for the text; rename one of \['text', 'la"):
        check_texts(data, text_column="txt")


def test_splits_must_agree():
    numbers, names = split(text=["a", "b"], label=[0, 1]), split(text=["a", "b"], label=["x", "y"])
    with pytest.raises(TextFormatError, match="split 'test' has the labels string, but split 'train' int64"):
        check_texts({"train": numbers, "test": names})
    other = datasets.Features({"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["p", "n"])})
    with pytest.raises(TextFormatError, match=r"split 'test' has the labels \['p', 'n'\], but.*\['n', 'p'\]"):
        check_texts({"train": numbers.cast(CLASSES), "test": numbers.cast(other)})


@pytest.mark.parametrize(
    ("name", "content", "error", "message"),
    [
        ("a.csv", "", DatasetFileError, r"a\.csv holds no row; expected a line with the names of columns, and rows"),
        ("a.csv", "text,label\n", TextFormatError, r"a\.csv: no rows"),
        ("a.csv", "text,label\na,1\nb\n", DatasetFileError, r"a\.csv, line 3: 1 column, expected 2: 'b'"),
        ("a.csv", "text,label\na,1\n,0\n", TextFormatError, r"a\.csv, row 1: the text.*is empty: ''"),
        ("a.csv", "text,label\na,1\nb,\n", TextFormatError, r"a\.csv, row 1: the label.*is empty: ''"),
        ("a.csv", "text,label\na,1.5\nb,2\n", TextFormatError, r"number with a fraction \(row 0: 1\.5\)"),
        ("a.jsonl", '{"text": "a", "label": 1}\n{"text"\n', DatasetFileError, r"a\.jsonl, line 2 is not JSON"),
        ("a.jsonl", '["a", 1]\n', DatasetFileError, r"a\.jsonl, line 1 is .*expected an object"),
        ("a.jsonl", '{"text": "a", "label": 1}\n{"label": 0}\n', TextFormatError, r"a\.jsonl, row 1: no text"),
        (
            *("a.jsonl", '{"text": "a", "label": 1}\n{"text": "b", "label": "x"}\n', TextFormatError),
            r"column 'label' is 1 in row 0 and 'x' in row 1; expected one type",
        ),
        ("a.jsonl", r'{"text": "\ud800", "label": 1}', DatasetFileError, r"a\.jsonl, line 1 holds half a character"),
        ("a.jsonl", "\n", TextFormatError, r"a\.jsonl: no rows"),
        ("a.parquet", "PAR1", DatasetFileError, r"a\.parquet cannot be read"),
        ("a.xlsx", "x", DatasetFileError, r"a\.xlsx is no \.csv, \.tsv, \.jsonl, \.parquet file"),
    ],
)
def test_bad_files(tmp_path, name, content, error, message):
    with pytest.raises(error, match=message):
        read_texts(written(tmp_path, name, content))


def test_a_folder_with_other_splits_only(tmp_path):
    (tmp_path / "d").mkdir()
    split(text=["a"], label=[0]).to_parquet(str(tmp_path / "d" / "x.parquet"))
    written(
        *(tmp_path, "d/README.md"),
        "---\nconfigs:\n- config_name: default\n  data_files:\n  - split: extra\n    path: x.parquet\n---\n",
    )
    with pytest.raises(TextFormatError, match=r"has the splits \['extra'\]; expected one of \['train', "):
        read_texts(str(tmp_path / "d"))


def test_a_dataset_that_is_nowhere(tmp_path, monkeypatch):
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    with pytest.raises(DatasetUnavailableError, match="nobody/nothing"):
        read_texts("nobody/nothing", data_dir=str(tmp_path))


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "sizes", "labels"),
    [
        (
            "cornell-movie-review-data/rotten_tomatoes",
            {"train": 8530, "validation": 1066, "test": 1066},
            ["neg", "pos"],
        ),
        ("SetFit/CR", {"train": 3771}, ["negative", "positive"]),
        ("SetFit/subj", {"train": 10000}, ["objective", "subjective"]),
        ("ctxzoo-data/mpqa", {"train": 10603}, ["neg", "pos"]),
        (
            *("ctxzoo-data/reuters8", {"train": 5485, "test": 2189}),
            ["acq", "crude", "earn", "grain", "interest", "money-fx", "ship", "trade"],
        ),
        ("stanfordnlp/imdb", {"train": 25000, "test": 25000}, ["neg", "pos"]),
    ],
)
def test_real_datasets(name, sizes, labels):
    found = read_texts(name)
    assert {split: len(data) for split, data in found.splits.items()} == sizes
    assert found.label_names == labels


WORDS = ["a", "b", "c"]


@pytest.mark.parametrize("kind", [pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())])
def test_text_of_every_type_is_text(tmp_path, kind):
    names = pa.array(["x", "y", "x"])
    table = pa.table({"text": pa.array(WORDS).cast(kind), "label": names.cast(kind), "other": names.cast(kind)})
    pq.write_table(table, tmp_path / "a.parquet")
    found = read_texts(str(tmp_path / "a.parquet"))
    assert rows(found.splits["train"]) == [("a", 0), ("b", 1), ("c", 0)]
    plain = check_texts({"train": split(text=WORDS, label=["x", "y", "x"])})
    assert found.fingerprint == plain.fingerprint


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "text,label,text\na,x,b\n", "several columns are called 'text'; give each a name of its own"),
        ("a.tsv", "text\tlabel\tlabel\na\tx\tb\n", "several columns are called 'label'"),
        ("a.jsonl", '{"text": "a", "label": 1, "text": "b"}', "line 1 is not JSON .'text' stands there twice"),
        ("a.jsonl", '{"text": "a", "label": 1e23}', r"type double .row 0: 1e\+23.; expected integers 0..L-1"),
        (
            "a.jsonl",
            '{"text": "a", "label": 0}\n{"text": "b", "label": 100000000000000000000000}',
            "row 1: 100000000000000000000000 in column 'label'; expected 0..L-1 for L labels; write other numbers as",
        ),
        ("a.jsonl", '{"text": "a \\ud800", "label": 1}', r"line 1 holds half a character, '\\ud800'"),
        ("a.jsonl", '{"text": ' + "[" * 100_000, "line 1 is not JSON"),
        ("a.jsonl", "\n", "a.jsonl: no rows"),
        ("a.jsonl", '{"text": "a", "label": true}\n', r"type bool .row 0: True.; expected integers"),
        ("a.csv", "text,label\na,x\nb,x\n", "the only label is 'x'; expected two or more"),
    ],
)
def test_odd_files(tmp_path, name, content, message):
    with pytest.raises((TextFormatError, DatasetFileError), match=message) as caught:
        read_texts(written(tmp_path, name, content))
    assert str(tmp_path / name) in str(caught.value)


def test_other_encodings_are_named(tmp_path):
    for name, encoding, place in (("a.csv", "latin-1", 14), ("b.jsonl", "utf-16", 0)):
        (tmp_path / name).write_bytes("text,label\ncafé,x\n".encode(encoding))
        with pytest.raises(DatasetFileError, match=f"{name}: not UTF-8 text at byte {place}; save it as UTF-8"):
            read_texts(str(tmp_path / name))


def test_a_parquet_file_with_a_name_twice_or_a_number_too_large(tmp_path):
    labels = pa.array([0, 2**63], pa.uint64())
    for names, message in (
        (["text", "label", "text"], "several columns are called 'text'"),
        (["text", "label", "b"], "row 1: label 9223372036854775808 in column 'label'; expected 0..L-1 for L labels"),
    ):
        table = pa.Table.from_arrays([pa.array(["a", "b"]), labels, pa.array(["a", "b"])], names=names)
        pq.write_table(table, tmp_path / "a.parquet")
        with pytest.raises((TextFormatError, DatasetFileError), match=message):
            read_texts(str(tmp_path / "a.parquet"))


def test_other_columns_may_hold_anything(tmp_path):
    content = (
        '{"text": "a", "label": 0, "n": 1}\n{"text": "b", "label": 1, "n": "x"}\n{"text": "c", "label": 1, "n": 1e99}'
    )
    assert rows(read_texts(written(tmp_path, "a.jsonl", content)).splits["train"]) == [("a", 0), ("b", 1), ("c", 1)]
    with pytest.raises(TextFormatError, match="column 'n' is 1 in row 0 and 'x' in row 1; expected one type"):
        read_texts(str(tmp_path / "a.jsonl"), label_column="n")


def test_labels_that_differ_in_blanks_case_or_zeros_are_told(tmp_path, caplog):
    found = read_texts(written(tmp_path, "a.csv", "text,label\na,pos\nb, Pos\nc,neg\nd,neg ative\n"))
    assert found.label_names == [" Pos", "neg", "neg ative", "pos"]
    told = "2 labels differ in blanks, case or leading zeros alone, ' Pos', 'pos'; each counts as a label of its own"
    assert [record.getMessage() for record in caplog.records] == [f"{tmp_path / 'a.csv'}: {told}"]
    caplog.clear()
    zeros = written(tmp_path, "zeros.csv", "text,label\na,007\nb,7\nc,0\nd,70\ne,x07\nf,x7\n")
    assert read_texts(zeros).label_names == ["0", "007", "7", "70", "x07", "x7"]
    told = told.replace("' Pos', 'pos'", "'007', '7'")
    assert [record.getMessage() for record in caplog.records] == [f"{zeros}: {told}"]
    caplog.clear()
    read_texts(written(tmp_path, "b.csv", "text,label\na,pos\nb,neg\n"))
    assert not caplog.records


@pytest.mark.parametrize(
    ("written_as", "names", "counted"),
    [
        (["001", "007", "7"], ["001", "007", "7"], 0),
        (["1", "01", "1"], ["01", "1"], 0),
        (["NA", "null", "nan"], ["NA", "nan", "null"], 0),
        (["true", "False", "true"], ["False", "true"], 0),
        (["2024-01-31", "2024-02-01", "x"], ["2024-01-31", "2024-02-01", "x"], 0),
        (["10", "9", "8"], ["8", "9", "10"], 0),
        (["0.0", "1.0", "1"], ["0", "1"], 2),
    ],
)
def test_labels_are_what_the_file_says(tmp_path, written_as, names, counted):
    """A column of labels was read as numbers, dates, truth values or nothing where all of it could be that."""
    content = "".join(f"word{row},{label}\n" for row, label in enumerate(written_as))
    alike = {"a.csv": f"text,label\n{content}", "a.tsv": "text\tlabel\n" + content.replace(",", "\t")}
    objects = [{"text": f"word{row}", "label": label} for row, label in enumerate(written_as)]
    alike["a.jsonl"] = "\n".join(map(json.dumps, objects))
    for name, text in alike.items():
        with collect_reading_notes() as notes:
            path = written(tmp_path, name, text)
            found = check_texts(load_texts(path)[0], any_labels=True)
        assert found.label_names == names
        read_as = [names[label] for label in found.splits["train"]["label"]]
        assert read_as == [label.removesuffix(".0") for label in written_as]
        counts = {what: number for what, number in notes.counts().items() if "leading zeros" not in what}
        assert counts == ({"labels written as 1.0, read as 1": counted} if counted else {})


def test_labels_of_several_files_are_numbers_where_all_are(tmp_path):
    train = {"text": ["a", "b"], "label": ["0", "1"]}
    for other, names in (([1, 0], ["0", "1"]), ([0.0, 1.0], ["0", "1"]), (["1", "0"], ["0", "1"])):
        splits = {"train": split(**train), "test": split(text=["c", "d"], label=other)}
        found = check_texts(splits)
        assert found.label_names == names
        assert found.splits["test"]["label"][:] == [int(label) for label in other]
    splits["test"] = split(text=["c", "d"], label=["01", "1"])
    assert check_texts(splits).label_names == ["0", "01", "1"]
