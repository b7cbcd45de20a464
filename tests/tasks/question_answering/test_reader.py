from __future__ import annotations

import copy
import json
from typing import Any

import datasets
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxzoo.data.formats import DatasetFileError
from ctxzoo.data.reading_notes import LEFT_OUT, collect_reading_notes
from ctxzoo.data.sources import dataset_fingerprint
from ctxzoo.tasks.question_answering.reader import check_squad, read_squad
from ctxzoo.tasks.question_answering.sample import build_squad_features
from ctxzoo.tasks.question_answering.squad_json import SquadFormatError, read_squad_json

pytestmark = pytest.mark.usefixtures("own_cache")


CONTEXT = "The mill burned in 1820. The mill was rebuilt by Ada."


def _official() -> dict:
    """A small SQuAD 2.0 file: two articles, three questions, the last one unanswerable."""
    return {
        "version": "v2.0",
        "data": [
            {
                "title": "Mill",
                "paragraphs": [
                    {
                        "context": CONTEXT,
                        "qas": [
                            {"id": "a", "question": "When?", "is_impossible": False,
                             "answers": [{"text": "1820", "answer_start": 19},
                                         {"text": "in 1820", "answer_start": 16}]},
                            {"id": "b", "question": "Who?", "answers": [{"text": "Ada", "answer_start": 49}]},
                        ],
                    }
                ],
            },
            {
                "title": "Pond",
                "paragraphs": [
                    {"context": "A pond.", "qas": [
                        {"id": "c", "question": "Whose?", "is_impossible": True, "answers": [],
                         "plausible_answers": [{"text": "pond", "answer_start": 2}]}]}
                ],
            },
        ],
    }  # fmt: skip


def _without_unanswerable() -> dict:
    content = _official()
    del content["data"][1]
    content["version"] = "1.1"
    return content


def _write(path, content) -> str:
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return str(path)


def _columns(**changes) -> dict:
    columns = {
        "id": ["a", "b", "c"],
        "title": ["t", "t", "u"],
        "context": [CONTEXT, CONTEXT, "A pond."],
        "question": ["When?", "Who?", "Whose?"],
        "answers": [
            {"text": ["1820", "in 1820"], "answer_start": [19, 16]},
            {"text": ["Ada"], "answer_start": [49]},
            {"text": [], "answer_start": []},
        ],
    }
    columns.update(changes)
    return columns


def _dataset(**changes) -> datasets.Dataset:
    return datasets.Dataset.from_dict(_columns(**changes), features=build_squad_features() if not changes else None)


def test_official_file_gives_the_same_rows_as_the_hub_form(tmp_path):
    read = read_squad(_write(tmp_path / "dev-v2.0.json", _official()))
    assert list(read.splits) == ["validation"]
    split = read.splits["validation"]
    assert split.features == build_squad_features()
    assert split.to_dict() == {**_columns(), "title": ["Mill", "Mill", "Pond"]}
    assert read.squad_version == "2.0"
    assert read.fingerprint == {"validation": dataset_fingerprint(split)}


@pytest.mark.parametrize(
    ("name", "split"),
    [
        ("train-v1.1.json", "train"),
        ("my_validation.json", "validation"),
        ("Dev.json", "validation"),
        ("nyt.json", "test"),
    ],
)
def test_the_file_name_gives_the_split(tmp_path, name, split):
    assert list(read_squad(_write(tmp_path / name, _without_unanswerable())).splits) == [split]


def test_a_folder_of_files_gives_several_splits(tmp_path):
    _write(tmp_path / "train.json", _official())
    _write(tmp_path / "dev.json", _without_unanswerable())
    read = read_squad(str(tmp_path))
    assert {name: len(split) for name, split in read.splits.items()} == {"train": 3, "validation": 2}
    assert read.squad_version == "2.0"
    _write(tmp_path / "validation.json", _official())
    with pytest.raises(SquadFormatError, match=r"dev\.json and .*validation\.json are both the split 'validation'"):
        read_squad(str(tmp_path))


def test_a_folder_in_hub_form_keeps_extra_columns(tmp_path):
    folder = tmp_path / "someone" / "thing"
    folder.mkdir(parents=True)
    wide = _dataset().add_column("source", ["x", "y", "z"])
    wide.select_columns(["source", "answers", "question", "id", "context", "title"]).to_parquet(
        folder / "train.parquet"
    )
    read = read_squad("someone/thing", data_dir=str(tmp_path))
    split = read.splits["train"]
    assert split.column_names == ["id", "title", "context", "question", "answers", "source"]
    assert split.to_dict() == {**_columns(), "source": ["x", "y", "z"]}


@pytest.mark.parametrize("readme", [False, True])
def test_a_folder_of_save_to_disk_is_named_and_the_advice_works(tmp_path, readme):
    saved, new = tmp_path / "saved", tmp_path / "new"
    datasets.DatasetDict({"train": _dataset(), "validation": _dataset()}).save_to_disk(saved)
    if readme:
        (saved / "README.md").write_text("# Mill\n")
    with pytest.raises(DatasetFileError, match=r"saved was written by `DatasetDict\.save_to_disk`.*load_from_disk"):
        read_squad(str(saved))
    with pytest.raises(DatasetFileError, match=r"train was written by `Dataset\.save_to_disk`.*to_parquet"):
        read_squad(str(saved / "train"))
    new.mkdir()
    for name, split in datasets.load_from_disk(saved).items():
        split.to_parquet(new / f"{name}.parquet")
    assert {name: split.to_dict() for name, split in read_squad(str(new)).splits.items()} == {
        "train": _columns(),
        "validation": _columns(),
    }


@pytest.mark.parametrize("text", ["large_string", "string_view"])
def test_other_types_become_the_usual_ones(text):
    features = build_squad_features()
    wide = datasets.Features(
        {
            **dict.fromkeys(("id", "title", "context", "question"), datasets.Value(text)),
            "source": datasets.Value(text),
            "answers": {
                "answer_start": datasets.List(datasets.Value("int64")),
                "text": datasets.List(datasets.Value("string" if text == "large_string" else text)),
            },
        }
    )
    dataset = datasets.Dataset.from_dict({**_columns(), "source": list("xyz")}, features=wide)
    split = check_squad({"train": dataset.select([2, 1, 0]).select([1, 2])}).splits["train"]
    assert split.features == {**features, "source": wide["source"]}
    assert split["id"][:] == ["b", "a"]
    assert split["answers"][:] == [_columns()["answers"][1], _columns()["answers"][0]]


def test_sample_is_read_and_checked():
    read = read_squad("sample")
    assert list(read.splits) == ["train", "validation", "test"]
    assert read.squad_version == "2.0"


def test_version_is_found_out(tmp_path):
    answerable = _without_unanswerable()
    assert read_squad(_write(tmp_path / "a.json", answerable)).squad_version == "1.1"
    answerable["version"] = "v2.0"
    file = _write(tmp_path / "b.json", answerable)
    assert read_squad(file).squad_version == "2.0"  # the file says so
    assert read_squad(file, squad_version="2.0").squad_version == "2.0"
    del answerable["version"]
    assert read_squad(_write(tmp_path / "c.json", answerable)).squad_version == "1.1"
    answerable = _official()
    del answerable["version"]
    assert read_squad(_write(tmp_path / "d.json", answerable)).squad_version == "2.0"


def test_version_mix_ups_are_refused(tmp_path):
    with pytest.raises(SquadFormatError, match=r"every question .* .or set .squad_version. to auto"):
        read_squad(_write(tmp_path / "train.json", _without_unanswerable()), squad_version="2.0")
    with pytest.raises(
        SquadFormatError, match=r"train\.json, row 2 \(id 'c'\): no answers, .* .or set .squad_version. to 2.0"
    ):
        read_squad(_write(tmp_path / "train.json", _official()), squad_version="1.1")
    contradicting = _official()
    contradicting["version"] = "1.1"
    with pytest.raises(SquadFormatError, match="row 2"):
        read_squad(_write(tmp_path / "train.json", contradicting))
    with pytest.raises(ValueError, match=r"expected '1\.1', '2\.0' or 'auto'"):
        check_squad({"train": _dataset()}, squad_version="2")


def test_malformed_json_is_located(tmp_path):
    with pytest.raises(DatasetFileError, match=r"bad\.json, line 2, column \d+: not JSON"):
        read_squad(_write(tmp_path / "bad.json", '{"data":\n [ {} , }'))
    (tmp_path / "latin.json").write_bytes(b'{"data": "\xe9"}')
    with pytest.raises(DatasetFileError, match=r"latin\.json: not UTF-8 text at byte 10"):
        read_squad(str(tmp_path / "latin.json"))
    with pytest.raises(ValueError, match=r"not a \.json file"):
        read_squad(_write(tmp_path / "train.txt", ""))


def test_a_byte_order_mark_is_no_error(tmp_path):
    assert len(read_squad(_write(tmp_path / "a.json", "\ufeff" + json.dumps(_official()))).splits["test"]) == 3


def _first_paragraph(content: dict) -> dict:
    return content["data"][0]["paragraphs"][0]


def _question(content: dict, index: int) -> dict:
    return _first_paragraph(content)["qas"][index]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda file: file.pop("data"), r"the file: no key 'data'; found version"),
        (lambda file: file.update(data=[]), r"no rows"),
        (lambda file: file.update(data=[3]), r"data\[0\]: 3; expected a JSON object"),
        (lambda file: file["data"][1].pop("paragraphs"), r"data\[1\]: no key 'paragraphs'"),
        (
            lambda file: _first_paragraph(file).update(context=None),
            r"paragraphs\[0\]: 'context' is null; expected text",
        ),
        (lambda file: _question(file, 1).update(answers=3), r"row 1, .*qas\[1\] \(id 'b'\): 'answers' is 3; expected"),
        (lambda file: _question(file, 1).update(question=["Who?"]), r"\(id 'b'\): 'question' is \[\"Who\?\"\]"),
        (lambda file: _question(file, 1).update(id=[7]), r"row 1, .*: 'id' is \[7\]; expected text"),
        (
            lambda file: _question(file, 1)["answers"][0].update(answer_start="49"),
            r"\(id 'b'\).answers\[0\]: 'answer_start' is \"49\"; expected a whole number",
        ),
        (lambda file: _question(file, 1)["answers"][0].update(answer_start=True), r"'answer_start' is true"),
        (
            lambda file: _question(file, 0).update(is_impossible=True),
            r"row 0, .*\(id 'a'\): is_impossible is true, but there are answers: \['1820'",
        ),
    ],
)
def test_bad_official_files(tmp_path, change, message):
    content = copy.deepcopy(_official())
    change(content)
    with pytest.raises(SquadFormatError, match=message) as caught:
        read_squad(_write(tmp_path / "train.json", content))
    assert "train.json" in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"id": ["a", "b", "a"]}, r"row 2 \(id 'a'\): row 0 has the same id"),
        ({"id": ["a", "", "c"]}, r"row 1 \(id ''\): id is empty"),
        ({"id": [1.5, 2.0, 3.0]}, r"column 'id' has the type double; expected text"),
        ({"title": ["t", None, "t"]}, r"row 1 \(id 'b'\): title is null"),
        ({"question": ["q", " \t\u00a0", "q"]}, r"row 1 \(id 'b'\): question is empty"),
        ({"context": [CONTEXT, CONTEXT, "\n"]}, r"row 2 \(id 'c'\): context is empty"),
        ({"context": [None, CONTEXT, "x"]}, r"row 0 \(id 'a'\): context is null"),
        ({"answers": ["1820", "Ada", ""]}, r"column 'answers' has the type string"),
        ({"answers": [{"text": ["1820"]}, {"text": ["Ada"]}, {"text": []}]}, r"column 'answers' has the type struct"),
        (
            {"is_impossible": [False, True, True]},
            r"\(id 'b'\): is_impossible is true, but there are answers: \['Ada'\]",
        ),
    ],
)
def test_bad_rows(changes, message):
    with pytest.raises(SquadFormatError, match=rf"split 'dev'.*{message}"):
        check_squad({"train": _dataset(), "dev": _dataset(**changes)})


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        (None, r"answers (is|holds) null"),
        ({"text": ["Ada"], "answer_start": []}, r"1 answer texts, but 0 values of answer_start"),
        ({"text": [" "], "answer_start": [3]}, r"an answer is empty"),
        ({"text": [None], "answer_start": [3]}, r"an answer is null"),
        ({"text": ["Ada"], "answer_start": [-1]}, r"answer_start is -1; expected 0 or more; it is at 49"),
        (
            {"text": ["Ada"], "answer_start": [48]},
            r"the context has ' Ad' at answer_start 48, not the answer 'Ada'; it is at 49; correct answer_",
        ),
        ({"text": ["Ada"], "answer_start": [900]}, r"the context has '' at answer_start 900"),
        ({"text": ["Eve"], "answer_start": [49]}, r"does not contain the answer 'Eve' at all"),
    ],
)
def test_bad_answers(answers, message):
    first, _, last = _columns()["answers"]
    with pytest.raises(SquadFormatError, match=rf"split 'dev', row 1 \(id 'b'\): .*{message}"):
        check_squad({"train": _dataset(), "dev": _dataset(answers=[first, answers, last])})


def test_missing_columns_and_empty_splits():
    with pytest.raises(SquadFormatError, match="split 'dev': no column context, answers; found id"):
        check_squad({"dev": _dataset().remove_columns(["context", "answers"])})
    with pytest.raises(SquadFormatError, match="split 'dev': no rows"):
        check_squad({"dev": _dataset().select([])})
    with pytest.raises(SquadFormatError, match="no split"):
        check_squad({})


def test_offsets_are_moved_to_the_nearest_occurrence(caplog):
    answers = [
        {"text": ["mill", "The mill"], "answer_start": [27, 25]},  # at 4 and 29: 27 is nearer to 29
        {"text": ["mill", "Ada"], "answer_start": [-5, 49]},
        {"text": [], "answer_start": []},
    ]
    with caplog.at_level("WARNING"):
        read = check_squad({"train": _dataset(answers=answers), "dev": _dataset()}, fix_answer_start=True)
    assert read.splits["train"]["answers"][:] == [
        {"text": ["mill", "The mill"], "answer_start": [29, 25]},
        {"text": ["mill", "Ada"], "answer_start": [4, 49]},
        {"text": [], "answer_start": []},
    ]
    assert read.fixed_answer_starts == {"train": 2, "dev": 0}
    assert "split 'train': 2 offsets of answers, moved to the nearest occurrence" in caplog.text
    answers[0]["text"][0] = "barn"
    with pytest.raises(SquadFormatError, match=r"row 0.*does not contain the answer 'barn'"):
        check_squad({"train": _dataset(answers=answers)}, fix_answer_start=True)


def test_offsets_count_characters_and_odd_characters_are_kept():
    context = "\u200b\u0000\U0001f600 e\u0301tude, Zo\u00eb."
    rows = {
        "id": ["a"], "title": [""], "context": [context], "question": ["\u200bWho\u0000?"],
        "answers": [{"text": ["Zo\u00eb", "\u200b\u0000"], "answer_start": [context.index("Zo"), 0]}],
    }  # fmt: skip
    split = check_squad({"test": datasets.Dataset.from_dict(rows)}).splits["test"]
    assert split[0]["context"] == context
    assert split[0]["answers"]["answer_start"] == [12, 0]


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "version", "rows"), [("rajpurkar/squad", "1.1", 10570), ("rajpurkar/squad_v2", "2.0", 11873)]
)
def test_official_development_sets(name, version, rows):
    read = read_squad(name)
    assert read.squad_version == version
    assert len(read.splits["validation"]) == rows


WORDS = st.text("ab \n\"é'", max_size=8)
ANSWERS = st.lists(st.fixed_dictionaries({"text": st.just("é"), "answer_start": st.just(0)}), max_size=2)
QUESTION = st.fixed_dictionaries(
    {"id": st.one_of(st.integers(), st.text("01", min_size=1)), "question": WORDS},
    optional={"answers": st.one_of(st.none(), ANSWERS), "more": st.integers()},
)
PARAGRAPH = st.fixed_dictionaries({"context": WORDS.map("é{}".format), "qas": st.lists(QUESTION, max_size=3)})
ARTICLE = st.fixed_dictionaries(
    {"paragraphs": st.lists(PARAGRAPH, max_size=2)}, optional={"title": st.one_of(st.none(), WORDS)}
)
# What makes a question, a paragraph or an article bad.
BAD = {
    "qas": [{"id": 1.5, "question": "q"}, {"id": "x"}, {"question": "q", "id": "y", "answers": [{"text": 3}]}, 7],
    "paragraphs": [{"qas": []}, {"context": "c"}, None],
    "data": [{"title": "t"}, {"paragraphs": 3}, "text"],
}


@settings(max_examples=50, deadline=None, derandomize=True)
@given(
    st.lists(ARTICLE, max_size=3),
    st.lists(st.tuples(st.sampled_from(sorted(BAD)), st.integers(0, 3), st.integers(0, 9)), max_size=4),
)
def test_questions_are_those_of_the_json_and_the_numbers_add_up(
    tmp_path_factory: pytest.TempPathFactory, data: list[dict[str, Any]], bad: list[tuple[str, int, int]]
) -> None:
    expected = [
        {
            "id": str(question["id"]),
            "question": question["question"],
            "context": paragraph["context"],
            "title": article.get("title") or "",
            "answers": len(question.get("answers") or ()),
        }
        for article in data
        for paragraph in article["paragraphs"]
        for question in paragraph["qas"]
    ]
    questions = [one for article in data for paragraph in article["paragraphs"] for one in paragraph["qas"]]
    numeric = sum(isinstance(question["id"], int) for question in questions)
    unanswered = sum(question.get("answers") is None for question in questions)
    content = {"data": data}
    number = 0
    for level, kind, place in bad:
        lists = {
            "data": [content["data"]],
            "paragraphs": [one["paragraphs"] for one in data if isinstance(one, dict) and "paragraphs" in one],
        }
        lists["paragraphs"] = [one for one in lists["paragraphs"] if isinstance(one, list)]
        paragraphs = [one for some in lists["paragraphs"] for one in some if isinstance(one, dict)]
        lists["qas"] = [one["qas"] for one in paragraphs if {"context", "qas"} <= set(one)]
        if lists[level]:
            one = lists[level][place % len(lists[level])]
            one.insert(place % (len(one) + 1), copy.deepcopy(BAD[level][kind % len(BAD[level])]))
            number += 1
    path = tmp_path_factory.mktemp("files") / "train.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    with collect_reading_notes(skip_bad=True) as notes:
        found, _ = read_squad_json(path)
    assert [{**row, "answers": len(row["answers"]["text"])} for row in found] == expected
    assert notes.counts() == {
        name: count
        for name, count in (
            (LEFT_OUT, number),
            ("numeric ids of questions, read as text", numeric),
            ("questions without answers, read as unanswerable", unanswered),
        )
        if count
    }
    if number:
        with pytest.raises(SquadFormatError, match=r"train\.json, .*(data\[|row )"):
            read_squad_json(path)


def test_bad_rows_are_left_out_and_keep_their_numbers() -> None:
    answers = [*_columns()["answers"], {"text": ["Eve"], "answer_start": [49]}, {"text": ["Ada"], "answer_start": []}]
    columns = {name: [*values, *values[:2]] for name, values in _columns().items()}
    columns |= {"id": ["a", "a", "c", "d", "e"], "answers": answers}
    with collect_reading_notes(skip_bad=True) as notes:
        read = check_squad({"dev": datasets.Dataset.from_dict(columns)})
    assert read.splits["dev"]["id"][:] == ["a", "c"]
    assert {where: why.split(": ", 1)[1].split(";")[0] for where, why in notes.left_out.items()} == {
        "split 'dev', row 1": "row 0 has the same id",
        "split 'dev', row 3": "the context has 'Ada' at answer_start 49, not the answer 'Eve'",
        "split 'dev', row 4": "1 answer texts, but 0 values of answer_start",
    }
    with collect_reading_notes(skip_bad=True), pytest.raises(SquadFormatError, match="split 'dev': no rows are left"):
        check_squad({"dev": _dataset(question=["", " ", "\n"])})


def test_ids_that_are_numbers_are_text() -> None:
    with collect_reading_notes() as notes:
        assert check_squad({"dev": _dataset(id=[7, 8, 9])}).splits["dev"]["id"][:] == ["7", "8", "9"]
    assert notes.counts() == {"numeric ids of questions, read as text": 3}
