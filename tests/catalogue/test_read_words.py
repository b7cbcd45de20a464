from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from ctxzoo.catalogue.entry import RawFileError
from ctxzoo.catalogue.read_words import (
    make_conll_u_converter,
    make_word_pair_converter,
    read_brown_corpus,
    read_conll_2000,
    read_treebank_sample,
    read_word_analogies,
)

UNIVERSAL = {
    "universal_tagset/en-ptb.map": "NNP\tNOUN\nNN\tNOUN\nMD\tVERB\nVB\tVERB\n-LRB-\t.\n",
    "universal_tagset/en-brown.map": "AT\tDET\nNP-TL\tNOUN\n",
}


def zipped(folder: Path, name: str, members: dict[str, str]) -> Path:
    with zipfile.ZipFile(folder / name, "w") as archive:
        for member, content in members.items():
            archive.writestr(member, content)
    return folder / name


@pytest.fixture
def universal(tmp_path: Path) -> dict[str, Path]:
    return {"universal_tagset.zip": zipped(tmp_path, "universal_tagset.zip", UNIVERSAL)}


def test_brown_corpus(tmp_path: Path, universal: dict[str, Path]) -> None:
    members = {
        "brown/cats.txt": "cb01 editorial\nca01 news\n",
        "brown/ca01": "\n\n\tThe/at Fulton/np-tl\n\n\n1-1/2/cd  and/or/cc\n",
        "brown/cb01": "A/at\n",
        "brown/README": "not a text",
    }
    (rows,) = read_brown_corpus({"brown.zip": zipped(tmp_path, "brown.zip", members), **universal}).values()
    assert rows["file"] == ["ca01", "ca01", "cb01"]
    assert rows["category"] == ["news", "news", "editorial"]
    assert rows["tokens"] == [["The", "Fulton"], ["1-1/2", "and/or"], ["A"]]
    assert rows["pos_tags"] == [["AT", "NP-TL"], ["CD", "CC"], ["AT"]]
    assert rows["upos"] == [["DET", "NOUN"], ["X", "X"], ["DET"]]


def test_conll_2000(tmp_path: Path, universal: dict[str, Path]) -> None:
    members = {
        "conll2000/train.txt": "Pound NN B-NP\nrose VB B-VP\n\n\nIt NN B-NP\n",
        "conll2000/test.txt": "A NN O\n\n",
    }
    splits = read_conll_2000({"conll2000.zip": zipped(tmp_path, "conll2000.zip", members), **universal})
    assert splits["train"]["tokens"] == [["Pound", "rose"], ["It"]]
    assert splits["train"]["chunk_tags"] == [["B-NP", "B-VP"], ["B-NP"]]
    assert splits["test"]["upos"] == [["NOUN"]]


def test_treebank_sample(tmp_path: Path, universal: dict[str, Path]) -> None:
    files = {f"treebank/combined/wsj_{number:04d}.mrg": "" for number in range(1, 200)}
    files["treebank/combined/wsj_0001.mrg"] = """
( (S (NP-SBJ (NNP Pierre) (-NONE- *T*-1)) (VP (MD will)
    (VP (VB join) (-LRB- -LRB-)))) )
( (NP (NNP 1\\/2)) )
"""
    files["treebank/combined/wsj_0160.mrg"] = "((S (VB go)))"
    files["treebank/combined/wsj_0199.mrg"] = "( (S (-NONE- *)) )\n( (UH oh) )"
    splits = read_treebank_sample({"treebank.zip": zipped(tmp_path, "treebank.zip", files), **universal})
    assert splits["train"]["tokens"] == [["Pierre", "will", "join", "-LRB-"], ["1\\/2"]]
    assert splits["train"]["pos_tags"] == [["NNP", "MD", "VB", "-LRB-"], ["NNP"]]
    assert splits["train"]["upos"] == [["NOUN", "VERB", "VERB", "."], ["NOUN"]]
    assert splits["validation"]["file"] == ["wsj_0160"]
    assert splits["test"] == {"file": ["wsj_0199"], "tokens": [["oh"]], "pos_tags": [["UH"]], "upos": [["X"]]}


def test_a_damaged_archive_is_named(tmp_path: Path, universal: dict[str, Path]) -> None:
    (tmp_path / "brown.zip").write_bytes(b"no zip")
    with pytest.raises(RawFileError, match=r"brown\.zip cannot be read: .*; expected the archive of the source"):
        read_brown_corpus({"brown.zip": tmp_path / "brown.zip", **universal})
    lacking = zipped(tmp_path, "conll2000.zip", {"conll2000/train.txt": "a NN O\n"})
    with pytest.raises(RawFileError, match=r"conll2000/test\.txt"):
        read_conll_2000({"conll2000.zip": lacking, **universal})


CONLL_U = """# newdoc id = x
# sent_id = weblog-0001
# text = Don't go
1-2\tDon't\t_\t_\t_\t_\t_\t_\t_\t_
1\tDo\tdo\tAUX\tVBP\t_\t3\taux\t_\t_
2\tn't\tnot\tPART\tRB\t_\t3\tadvmod\t_\t_
3\tgo\tgo\tVERB\tVB\t_\t0\troot\t_\t_
3.1\tgone\tgo\tVERB\tVBN\t_\t_\t_\t_\t_

# sent_id = weblog-0002
1\tHi\thi\tINTJ\tUH\t_\t0\troot\t_\t_
"""


def test_conll_u_leaves_ranges_and_empty_nodes_out(tmp_path: Path) -> None:
    (tmp_path / "dev.conllu").write_text(CONLL_U, encoding="utf-8")
    rows = make_conll_u_converter([("validation", "dev.conllu")])({"dev.conllu": tmp_path / "dev.conllu"})["validation"]
    assert rows["sent_id"] == ["weblog-0001", "weblog-0002"]
    assert rows["tokens"] == [["Do", "n't", "go"], ["Hi"]]
    assert rows["upos"] == [["AUX", "PART", "VERB"], ["INTJ"]]
    assert rows["xpos"] == [["VBP", "RB", "VB"], ["UH"]]


@pytest.mark.parametrize("content", ["1\tHi\thi\tINTJ\tUH\t_\t0\troot\t_\t_\n", "# sent_id = a\n1\tHi\n"])
def test_no_conll_u(tmp_path: Path, content: str) -> None:
    (tmp_path / "dev.conllu").write_text(content, encoding="utf-8")
    with pytest.raises(RawFileError, match=r"dev\.conllu: .* begins no sentence in CoNLL-U with one sent_id"):
        make_conll_u_converter([("validation", "dev.conllu")])({"dev.conllu": tmp_path / "dev.conllu"})


def test_word_pairs_keep_the_order_of_the_sets(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text("sun sunlight 50.000000\n", encoding="utf-8")
    (tmp_path / "a.txt").write_text("love\tsex\t6.77\ntake\tremove\t0\n", encoding="utf-8")
    files = {name: tmp_path / name for name in ("b.txt", "a.txt")}
    rows = make_word_pair_converter({"second": "b.txt", "first": "a.txt"})(files)["test"]
    assert rows["dataset"] == ["second", "first", "first"]
    assert rows["word1"] == ["sun", "love", "take"]
    assert rows["score"] == [50.0, 6.77, 0.0]
    (tmp_path / "a.txt").write_text("love\tsex\n", encoding="utf-8")
    with pytest.raises(RawFileError, match=r"a\.txt, line 1: .*; expected two words and a number"):
        make_word_pair_converter({"first": "a.txt"})(files)


def test_word_analogies(tmp_path: Path) -> None:
    path = tmp_path / "google-analogies.csv"
    path.write_text(",type,word1,word2,word3,target\n0,capitals,Athens,Greece,Oslo,Norway\n", encoding="utf-8")
    rows = read_word_analogies({path.name: path})["test"]
    expected = {"category": "capitals", "a": "Athens", "b": "Greece", "c": "Oslo", "d": "Norway", "dataset": "google"}
    assert rows == {name: [value] for name, value in expected.items()}
    path.write_text("a,b\n", encoding="utf-8")
    with pytest.raises(RawFileError, match="has the columns"):
        read_word_analogies({path.name: path})
