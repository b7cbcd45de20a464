"""Files of tagged sentences: what is read, and what is said of lines that are none."""

from __future__ import annotations

from pathlib import Path

import conllu
import datasets
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxzoo.data.formats import DatasetFileError
from ctxzoo.data.reading_notes import collect_reading_notes
from ctxzoo.tasks.token_classification.reader import read_tokens
from ctxzoo.tasks.token_classification.sources import read_tag_file

CONLL = "Anna NN B-PER\nsings VB O\n\nBert NN B-PER\n\n\n"
UNIVERSAL = """# newdoc id = a
# text = I can't
1\tI\ti\tPRON\tPRP\t_\t0\troot\t_\t_
2-3\tcan't\t_\t_\t_\t_\t_\t_\t_\t_
2\tca\tcan\tAUX\tMD\t_\t1\taux\t_\t_
3\tn't\tnot\tPART\tRB\t_\t1\tadvmod\t_\t_
3.1\tgo\tgo\tVERB\tVB\t_\t_\t_\t_\t_

# newdoc id = b
1\tYes\tyes\tINTJ\tUH\t_\t0\troot\t_\t_
"""


def written(folder: Path, name: str, content: str) -> Path:
    path = folder / name
    path.write_text(content, encoding="utf-8")
    return path


def test_a_line_is_a_word_and_last_its_tag(tmp_path: Path) -> None:
    assert read_tag_file(written(tmp_path, "a.conll", CONLL)).to_list() == [
        {"tokens": ["Anna", "sings"], "tags": ["B-PER", "O"]},
        {"tokens": ["Bert"], "tags": ["B-PER"]},
    ]


@pytest.mark.parametrize("content", [CONLL.replace("\n", "\r\n"), CONLL.replace(" ", "\t"), CONLL.rstrip("\n")])
def test_line_ends_tabs_and_a_missing_last_line_change_nothing(content: str, tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_bytes(content.encode())
    assert read_tag_file(tmp_path / "b.txt").to_list() == read_tag_file(written(tmp_path, "a.iob", CONLL)).to_list()


def test_documents_are_told_where_there_are_several(tmp_path: Path) -> None:
    content = "-DOCSTART- -X- O\n\na X\n\nb X\n\n-DOCSTART- -X- O\n\nc X\n"
    assert read_tag_file(written(tmp_path, "a.conll", content))["file"][:] == ["1", "1", "2"]
    assert "file" not in read_tag_file(written(tmp_path, "b.conll", content[:28])).column_names


def test_universal_dependencies_have_words_alone(tmp_path: Path) -> None:
    assert read_tag_file(written(tmp_path, "a.conllu", UNIVERSAL)).to_list() == [
        {"tokens": ["I", "ca", "n't"], "upos": ["PRON", "AUX", "PART"], "xpos": ["PRP", "MD", "RB"], "file": "1"},
        {"tokens": ["Yes"], "upos": ["INTJ"], "xpos": ["UH"], "file": "2"},
    ]


def test_a_column_of_tags_that_is_empty_is_left_out(tmp_path: Path) -> None:
    bare = UNIVERSAL
    for tag in ("PRP", "MD", "RB", "VB", "UH"):
        bare = bare.replace(f"\t{tag}\t", "\t_\t")
    file = written(tmp_path, "a.conllu", bare)
    assert "xpos" not in read_tag_file(file).column_names
    assert read_tokens(str(file)).label_names == ["AUX", "INTJ", "PART", "PRON"]


def test_lists_in_json_lines_and_parquet(tmp_path: Path) -> None:
    rows = [{"tokens": ["a", "b"], "ner_tags": ["O", "X"]}, {"tokens": ["c"], "ner_tags": ["O"]}]
    lines = written(
        tmp_path, "a.jsonl", '{"tokens": ["a", "b"], "ner_tags": ["O", "X"]}\n{"tokens": ["c"], "ner_tags": ["O"]}\n'
    )
    datasets.Dataset.from_list(rows).to_parquet(tmp_path / "a.parquet")
    for file in (lines, tmp_path / "a.parquet"):
        read = read_tokens(str(file))
        assert read.splits["train"]["labels"][:] == [[0, 1], [0]]
        assert read.label_names == ["O", "X"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "a,b\n", r"a\.csv is no \.conll, \.bio, .* file; name one, a folder, or a Hub id"),
        ("a.conll", "", "a.conll holds no sentence; expected a word and its tag in each line"),
        ("a.conll", "a X\n\nb\n", "line 3: 'b' has 1 column; expected 2 as in most lines"),
        ("a.conll", "a X\nb Y Z\n", "line 2: 'b Y Z' has 3 columns; expected 2 as in most lines"),
        ("a.conllu", "1\ta\tX\n", "line 1: .* has 3 columns; expected 10 set apart by tabs, as CoNLL-U has"),
        (
            "a.jsonl",
            '{"tokens": ["a"]}\n{"tokens": 3}\n',
            "a.jsonl: .*expected lists of words and of tags in each line",
        ),
        ("a.parquet", "no parquet", "a.parquet cannot be read"),
    ],
)
def test_what_is_no_such_file(name: str, content: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(DatasetFileError, match=message):
        read_tag_file(written(tmp_path, name, content))


@pytest.mark.parametrize("tabs", [False, True])
def test_comments_are_no_words_and_the_sign_is_one(tmp_path: Path, tabs: bool) -> None:
    content = "# doc\nAnna NN\n#1 NN\n# comment here\n# CD\n\n# id 5\nsings CD\n"
    lines = content.split("\n")
    lines = [line.replace(" ", "\t") if tabs and line.endswith((" NN", " CD")) else line for line in lines]
    with collect_reading_notes() as notes:
        found = read_tag_file(written(tmp_path, "a.conll", "\n".join(lines))).to_list()
    assert found == [
        {"tokens": ["Anna", "#1", "#"], "tags": ["NN", "NN", "CD"]},
        {"tokens": ["sings"], "tags": ["CD"]},
    ]
    assert notes.counts() == {"comment lines, left out": 3}


def test_a_folder_of_such_files_keeps_tags_and_documents(tmp_path: Path) -> None:
    written(tmp_path, "train_a.conll", CONLL)
    written(tmp_path, "train_b.conll", "-DOCSTART- O\n\nc O\n\n-DOCSTART- O\n\nd O\n")
    written(tmp_path, "test.conll", "e O\n\nf B-PER\n")
    found = read_tokens(str(tmp_path))
    assert found.label_names == ["B-PER", "NN", "O"][::2]
    assert found.splits["train"]["tokens"][:] == [["Anna", "sings"], ["Bert"], ["c"], ["d"]]
    names = ["train_a.conll/0", "train_a.conll/0", "train_b.conll/1", "train_b.conll/2"]
    assert found.splits["train"]["file"][:] == names
    assert found.splits["test"]["labels"][:] == [[1], [0]]


def test_sentences_with_a_bad_line_are_left_out_and_counted(tmp_path: Path) -> None:
    with collect_reading_notes(skip_bad=True) as notes:
        found = read_tag_file(written(tmp_path, "a.conll", "a X\n\nb X\nbad\n\nc X Y\n\nd O\n"))
    assert found["tokens"][:] == [["a"], ["d"]]
    assert list(notes.left_out) == [f"{tmp_path / 'a.conll'}, line {line}" for line in (4, 6)]


@pytest.mark.parametrize("every", [True, False])
@pytest.mark.parametrize("content", [CONLL, CONLL.replace(" ", "\t"), UNIVERSAL])
def test_empty_columns_at_the_end_of_lines_are_left_out_and_counted(tmp_path: Path, content: str, every: bool) -> None:
    name = "a.conllu" if content == UNIVERSAL else "a.conll"
    plain = read_tag_file(written(tmp_path, name, content)).to_list()
    lines = content.split("\n")
    words = [place for place, line in enumerate(lines) if line and not line.startswith("#")]
    for place in words if every else words[1::2]:
        lines[place] += "\t\t" if place % 2 else "\t"
    with collect_reading_notes() as notes:
        assert read_tag_file(written(tmp_path, name, "\n".join(lines))).to_list() == plain
    told = {"lines with empty columns behind the last, which were left out": len(words if every else words[1::2])}
    assert notes.counts() == told


@pytest.mark.parametrize("bad", ["x\t", "x\tNN\t", "x\tNN\tO\tmore", "x"])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_line_that_is_not_whole_is_blamed_wherever_it_stands(tmp_path: Path, bad: str, place: int) -> None:
    sentences = ["a\tNN\tO", "b\tNN\tX"]
    sentences.insert(place, bad)
    path = written(tmp_path, "a.conll", "\n\n".join(sentences))
    with pytest.raises(DatasetFileError, match=f"line {2 * place + 1}: 'x.* expected 3 as in most lines"):
        read_tag_file(path)
    with collect_reading_notes(skip_bad=True) as notes:
        assert read_tag_file(path).to_list() == [{"tokens": ["a"], "tags": ["O"]}, {"tokens": ["b"], "tags": ["X"]}]
    assert list(notes.left_out) == [f"{path}, line {2 * place + 1}"]


WORDS = st.text(st.characters(categories=("L", "N", "P", "S")), min_size=1, max_size=6)
ROW = st.fixed_dictionaries(
    {
        **{"form": WORDS, "lemma": WORDS, "upos": st.sampled_from(["NOUN", "VERB", "_"])},
        **{"xpos": st.sampled_from(["NN", "_"]), "kind": st.sampled_from(["word", "word", "range", "empty"])},
    }
)


@settings(max_examples=50, deadline=None, derandomize=True)
@given(
    st.lists(st.lists(ROW, min_size=1, max_size=5), min_size=1, max_size=4),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from(["", "\ufeff"]),
)
def test_words_and_tags_are_those_that_conllu_reads(
    tmp_path_factory: pytest.TempPathFactory, sentences: list[list[dict[str, str]]], end: str, mark: str
) -> None:
    lines = []
    for number, sentence in enumerate(sentences, start=1):
        lines += [f"# sent_id = {number}", "# text = a comment\twith a tab"]
        word = 0
        for row in sentence:
            word += row["kind"] == "word"
            name = {"word": f"{word}", "range": f"{word + 1}-{word + 2}", "empty": f"{word}.1"}[row["kind"]]
            lines.append("\t".join([name, row["form"], row["lemma"], row["upos"], row["xpos"], *"_____"]))
        lines.append("")
    path = tmp_path_factory.mktemp("files") / "a.conllu"
    path.write_bytes((mark + end.join([*lines, ""])).encode())
    parsed = conllu.parse("\n".join([*lines, ""]))
    words = [[token for token in sentence if isinstance(token["id"], int)] for sentence in parsed]
    words = [sentence for sentence in words if sentence]
    expected = [
        {"tokens": [token["form"] for token in sentence], "upos": [token["upos"] for token in sentence]}
        for sentence in words
    ]
    if not expected:
        with pytest.raises(DatasetFileError, match="holds no sentence"):
            read_tag_file(path)
        return
    found = read_tag_file(path)
    assert found["tokens"][:] == [sentence["tokens"] for sentence in expected]
    for column in ("upos", "xpos"):
        tags = [[token[column] or "_" for token in sentence] for sentence in words]
        if any(tag != "_" for sentence in tags for tag in sentence):
            assert found[column][:] == tags
        else:
            assert column not in found.column_names
