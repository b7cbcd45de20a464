"""Word vectors out of a checkpoint folder, or from the Hub, and their spelling of digits."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from ctxzoo.tasks.text_classification.data import TextClassificationDataModule
from ctxzoo.word_vectors.safetensors_files import find_vector_checkpoint
from ctxzoo.word_vectors.vectors import WordVectors, read_word_vectors
from tests.support.hub_server import HubServer, hub_environment
from tests.support.subprocesses import run_python
from tests.support.word_vector_files import WORDS, small_vectors, write_checkpoint, write_vectors


def assert_refused(folder: Path, *parts: str, error: type[Exception] = ValueError) -> None:
    with pytest.raises(error) as caught:
        read_word_vectors(folder)
    assert all(part in str(caught.value) for part in parts), str(caught.value)


@pytest.mark.parametrize("prefix", ["", "word_embedding."])
def test_words_and_rows_belong_together_without_special_tokens(tmp_path: Path, prefix: str) -> None:
    vectors = small_vectors()
    folder = write_checkpoint(tmp_path / "attention_cbow-b20", vectors, prefix=prefix)
    found = read_word_vectors(str(folder))
    assert len(load_file(folder / "model.safetensors")[f"{prefix}word_vectors.weight"]) == len(WORDS) + 2
    assert found.words == list(WORDS)
    assert torch.equal(found.vectors, vectors.vectors)
    assert (found.name, found.fold_digits) == ("attention_cbow-b20", False)
    assert found.index.keys().isdisjoint({"[PAD]", "[UNK]", "[MASK]"})


def test_rows_are_kept_as_from_a_file(tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path / "v", small_vectors())
    assert read_word_vectors(folder, keep=["The", "PARIS", "nowhere"]).words == ["paris", "the"]
    assert read_word_vectors(folder, limit=2).words == list(WORDS[:2])
    file = read_word_vectors(write_vectors(tmp_path / "v.txt", small_vectors()), keep=["the"], limit=3)
    both = read_word_vectors(folder, keep=["the"], limit=3)
    assert both.words == file.words
    assert torch.equal(both.vectors, file.vectors)


def test_the_folder_of_a_recipe_is_named_after_its_run(tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path / "cbow-b20-seed0" / "checkpoint", small_vectors())
    assert read_word_vectors(folder).name == "cbow-b20-seed0"


def test_the_fingerprint_is_of_all_that_decides_the_vectors(tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path / "v", small_vectors())
    before = read_word_vectors(folder).fingerprint
    assert read_word_vectors(folder, limit=1).fingerprint == before
    (folder / "README.md").write_text("a card", encoding="utf-8")
    assert read_word_vectors(folder).fingerprint == before
    tensors = load_file(folder / "model.safetensors")
    save_file({name: value * 2 for name, value in tensors.items()}, folder / "model.safetensors")
    assert read_word_vectors(folder).fingerprint != before


def test_digits_are_looked_up_as_the_tokenizer_folds_them(tmp_path: Path) -> None:
    vectors = small_vectors(["0000", "0.00", "film", "US"])
    folded = read_word_vectors(write_checkpoint(tmp_path / "folded", vectors, fold_digits=True), keep=["2015", "7.31"])
    assert folded.fold_digits
    assert folded.words == ["0000", "0.00"]
    assert (folded.lookup("1987"), folded.lookup("3.14"), folded.lookup("12")) == (0, 1, None)
    plain = read_word_vectors(write_checkpoint(tmp_path / "plain", vectors))
    assert plain.lookup("1987") is None
    assert read_word_vectors(tmp_path / "plain", fold_digits=True).lookup("1987") == 0
    assert read_word_vectors(tmp_path / "folded", fold_digits=False).lookup("1987") is None


def test_digits_of_a_file_are_folded_on_request(tmp_path: Path) -> None:
    path = write_vectors(tmp_path / "v.txt", small_vectors(["0000", "1987", "A0"]))
    assert read_word_vectors(path).lookup("2001") is None
    folded = read_word_vectors(path, fold_digits=True, keep=["1987", "2001", "a5"])
    assert folded.words == ["0000", "1987", "A0"]
    # A spelling that is there comes before the folded one.
    assert (folded.lookup("1987"), folded.lookup("2001"), folded.lookup("a5")) == (1, 0, 2)


def test_a_data_module_starts_from_it(tmp_path: Path) -> None:
    vectors = small_vectors(["film", "good", "0"])
    folder = write_checkpoint(tmp_path / "v", vectors, fold_digits=True)
    (tmp_path / "texts.csv").write_text("text,label\n" + "good film 7,1\nbad film 7,0\n" * 10, encoding="utf-8")
    data = TextClassificationDataModule.from_options(
        str(tmp_path / "texts.csv"), folds=2, dev_share=0, word_vectors=str(folder)
    )
    data.setup()
    table = data.build_vector_table()
    assert table is not None
    ids = data.tokenizer.convert_tokens_to_ids(["film", "good", "7"])
    assert torch.equal(table[ids], vectors.vectors)
    assert (data.model_sizes()["word_dim"], data.get_vectors_name()) == (6, "v")


@pytest.mark.slow
def test_from_the_hub(tmp_path: Path) -> None:
    vectors = small_vectors()
    folder = write_checkpoint(tmp_path / "v", vectors)
    with HubServer() as server:
        printed = run_python(
            f"""
            import json
            from huggingface_hub import HfApi
            from ctxzoo.word_vectors.vectors import read_word_vectors
            api = HfApi()
            api.create_repo("someone/vectors")
            api.upload_folder(repo_id="someone/vectors", folder_path={str(folder)!r})
            found = read_word_vectors("someone/vectors", limit=3)
            try:
                read_word_vectors("someone/nothing")
            except FileNotFoundError as error:
                print(json.dumps([found.name, found.words, found.vectors.tolist(), str(error)]))
            """,
            env=hub_environment(server, tmp_path / "home"),
        ).stdout
    name, words, numbers, error = json.loads(printed.splitlines()[-1])
    assert (name, words) == ("vectors", list(WORDS[:3]))
    assert torch.equal(torch.tensor(numbers), vectors.vectors[:3])
    assert error.startswith("someone/nothing: no such file of word vectors or checkpoint folder, and the Hub")


@pytest.mark.parametrize("path", ["missing.txt", "folder/vectors.txt", "a/b/c", "/nowhere/vectors", "./a/b"])
def test_what_is_no_hub_id_is_not_asked_for(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert find_vector_checkpoint(path) is None
    (tmp_path / "folder").mkdir()
    assert find_vector_checkpoint("folder/vectors") is None  # a file of a folder that is there
    assert find_vector_checkpoint(Path("someone/vectors")) is None
    with pytest.raises(FileNotFoundError, match="no such file of word vectors"):
        read_word_vectors(path)


def test_a_folder_without_a_checkpoint_is_refused(tmp_path: Path) -> None:
    assert_refused(tmp_path, "folder without config.json", error=IsADirectoryError)


def test_damage_is_named(tmp_path: Path) -> None:
    def fresh(name: str) -> Path:
        return write_checkpoint(tmp_path / name, small_vectors())

    folder = fresh("other")
    (folder / "config.json").write_text('{"model_type": "bert"}', encoding="utf-8")
    assert_refused(folder, "model_type 'bert'", "ctxzoo_word_embedding")
    (folder / "config.json").write_text("[]", encoding="utf-8")
    assert_refused(folder, "model_type None")
    (folder / "config.json").write_text("{", encoding="utf-8")
    assert_refused(folder, "not a JSON file")
    folder = fresh("missing")
    (folder / "tokenizer.json").unlink()
    assert_refused(folder, "lacks tokenizer.json", error=FileNotFoundError)
    folder = fresh("tokenizer")
    (folder / "tokenizer.json").write_text("{}", encoding="utf-8")
    assert_refused(folder, "tokenizer.json: is no tokenizer")
    folder = fresh("cut")
    (folder / "model.safetensors").write_bytes((folder / "model.safetensors").read_bytes()[:-5])
    assert_refused(folder, "no whole safetensors file")
    folder = fresh("nameless")
    save_file({"other": torch.ones(2, 2)}, folder / "model.safetensors")
    assert_refused(folder, "holds the tensors ['other']", "ends in 'word_vectors.weight'")
    folder = fresh("rows")
    save_file({"word_vectors.weight": torch.ones(5, 2)}, folder / "model.safetensors")
    assert_refused(folder, f"5 rows, but tokenizer.json has {len(WORDS) + 2} tokens")
    folder = fresh("nan")
    table = load_file(folder / "model.safetensors")["word_vectors.weight"]
    ids = json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"]
    table[ids["rome"], 1] = float("nan")
    save_file({"word_vectors.weight": table}, folder / "model.safetensors")
    assert_refused(folder, "(word 'rome'): value 2 is nan")


def test_vectors_without_the_new_field_are_as_before() -> None:
    assert not WordVectors(["a"], torch.ones(1, 2), "v", "00").fold_digits
