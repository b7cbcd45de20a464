"""`ctxzoo.pipeline`, `ctxzoo.explain` and `ctxzoo.load_word_vectors` on checkpoints of every problem."""

from __future__ import annotations

import builtins
import io
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from huggingface_hub import CommitOperationAdd, HfApi, constants
from transformers import FillMaskPipeline, TokenClassificationPipeline
from transformers.utils import logging

import ctxzoo
from ctxzoo.data.notices import WEIGHTS_BARS
from ctxzoo.hub.checkpoint_folder import write_checkpoint_folder
from ctxzoo.hub.folder_checks import CheckpointFolderError
from ctxzoo.hub.push import push_folder
from ctxzoo.hub.repository import HubError
from ctxzoo.models.modeling_lama import LamaForSequenceClassification
from ctxzoo.models.modeling_text import TextPreTrainedModel
from ctxzoo.models.pipeline_question_answering import QuestionAnsweringPipeline
from ctxzoo.models.tokenization_word import build_word_tokenizer
from ctxzoo.tasks import PROBLEMS, get_card
from ctxzoo.tasks.text_classification.contributions import explain_text
from ctxzoo.tasks.text_classification.pipeline import KnownWordsPipeline
from ctxzoo.tasks.text_classification.task import evaluate
from ctxzoo.word_vectors.exchange import to_keyed_vectors
from tests.support import tiny_tagger, tiny_word_embedding
from tests.support.hub_server import HubServer
from tests.support.tiny_checkpoint import CONTEXT, QUESTION, ask, tiny_model, tiny_tokenizer
from tests.support.tiny_checkpoints import WORDS, WRITERS, lama, write_lama
from tests.support.toy_classifier import registered_toy, toy_model, toy_tokenizer
from tests.support.word_vector_files import small_vectors, write_vectors

TEXT = "The lamp is not bad"
REPO = "someone/bidaf-tiny"


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A checkpoint of every problem, whose Python files fail when they are run."""
    root = tmp_path_factory.mktemp("checkpoints")
    folders = {problem: write(root / problem) for problem, write in WRITERS.items()}
    for folder in folders.values():
        code = list(folder.glob("*.py"))
        assert code
        for file in code:
            file.write_text("raise RuntimeError('code of the checkpoint was run')\n")
    return folders


@pytest.mark.parametrize("problem", WRITERS)
def test_a_pipeline_reads_and_checks_a_checkpoint_once(
    problem: str, folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []

    def count(file: Any, *rest: Any, **options: Any) -> Any:
        opened.append(Path(file).name if isinstance(file, (str, Path)) else "")
        return whole(file, *rest, **options)

    whole = builtins.open
    for module in (builtins, io):  # the second is that of pathlib
        monkeypatch.setattr(module, "open", count)
    checked: list[object] = []
    monkeypatch.setattr("ctxzoo.hub.saved_model.check_tensor_shapes", lambda *read: checked.append(read))
    ctxzoo.pipeline(folders[problem])
    # transformers looks there for settings of `generate` too.
    assert opened.count("config.json") == (2 if problem == "language-modelling" else 1)
    assert len(checked) == 1


def test_every_problem_with_a_pipeline_is_tried() -> None:
    with_pipeline = {name for name in PROBLEMS if get_card(name).pipeline_at is not None}
    assert set(WRITERS) == with_pipeline, "add a writer of a tiny checkpoint to WRITERS, and a test of its pipeline"


def test_a_reader(folders: dict[str, Path]) -> None:
    reader = ctxzoo.pipeline(folders["question-answering"])
    assert type(reader) is QuestionAnsweringPipeline
    expected = ask(tiny_model(), tiny_tokenizer())
    answer = reader(question=QUESTION, context=CONTEXT)
    assert answer["answer"] == expected["answer"] != ""
    assert answer["score"] == pytest.approx(expected["score"], rel=1e-4)


def test_a_classifier(folders: dict[str, Path]) -> None:
    classifier = ctxzoo.pipeline(str(folders["text-classification"]), device="cpu", batch_size=2, top_k=None)
    assert type(classifier) is KnownWordsPipeline
    assert (classifier.task, classifier._batch_size) == ("text-classification", 2)
    model, tokenizer = lama(), build_word_tokenizer(WORDS)
    with torch.no_grad():
        wanted = model(**tokenizer(TEXT, return_tensors="pt")).logits[0].softmax(dim=0)
    found = {one["label"]: one["score"] for one in classifier([TEXT])[0]}
    assert found == pytest.approx({model.config.id2label[i]: p for i, p in enumerate(wanted.tolist())}, rel=1e-4)


def test_a_tagger(folders: dict[str, Path]) -> None:
    tagger = ctxzoo.pipeline(folders["token-classification"], ignore_labels=[])
    assert type(tagger) is TokenClassificationPipeline
    model, tokenizer = tiny_tagger.tiny_tagger(), tiny_tagger.tiny_tokenizer()
    with torch.no_grad():
        best = model(**tokenizer(tiny_tagger.TEXT, return_tensors="pt")).logits[0].argmax(dim=1).tolist()
    assert [word["entity"] for word in tagger(tiny_tagger.TEXT)] == [tiny_tagger.TAGS[tag] for tag in best]


def test_a_model_of_masked_words(folders: dict[str, Path]) -> None:
    filler = ctxzoo.pipeline(folders["fill-mask"], top_k=1)
    assert type(filler) is FillMaskPipeline
    expected = tiny_word_embedding.tiny_example()
    (best,) = filler(tiny_word_embedding.TEXT)
    assert (best["token_str"], best["score"]) == (expected["token_str"], pytest.approx(expected["score"], rel=1e-4))


def test_a_repository_of_the_hub_whose_code_was_changed(here: HubServer, checkpoint: Path) -> None:
    push_folder(checkpoint, REPO)
    code = [path.name for path in checkpoint.glob("*.py")]
    changed = [CommitOperationAdd(name, b"raise RuntimeError('run')") for name in code]
    HfApi().create_commit(REPO, changed, commit_message="changed")
    sent = len(here.requests)
    reader = ctxzoo.pipeline(REPO)
    assert reader(question=QUESTION, context=CONTEXT)["answer"] == ask(tiny_model(), tiny_tokenizer())["answer"]
    assert not any(".py" in record.path for record in here.requests[sent:])
    with pytest.raises(HubError, match="no folder 'someone/nothing' here and no such repository on the Hub"):
        ctxzoo.pipeline("someone/nothing")


def test_without_network(here: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(HubError, match=r"there is no folder 'someone/nothing' here, .* cannot be reached; check path"):
        ctxzoo.pipeline("someone/nothing")


@pytest.mark.parametrize("name", ["explain", "pipeline"])
def test_what_is_no_checkpoint(name: str, folders: dict[str, Path], tmp_path: Path) -> None:
    arguments = ["a text"] if name == "explain" else []

    def opened(checkpoint: Any) -> Any:
        return getattr(ctxzoo, name)(checkpoint, *arguments)

    with pytest.raises(FileNotFoundError, match=r"there is no checkpoint '/nowhere/at/all'"):
        opened("/nowhere/at/all")
    with pytest.raises(CheckpointFolderError, match=r"has no config\.json; it is not a checkpoint folder"):
        opened(tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    with pytest.raises(CheckpointFolderError, match=r"'bert', not one of ctxzoo .*; load it with the library it comes"):
        opened(tmp_path)
    folder = shutil.copytree(folders["text-classification"], tmp_path / "bare")
    (folder / "model.safetensors").unlink()
    with pytest.raises(CheckpointFolderError, match=r"lacks model\.safetensors"):
        opened(folder)
    base = write_checkpoint_folder(
        tmp_path / "base", model=tiny_model().bidaf, tokenizer=tiny_tokenizer(), card="# Card"
    )
    with pytest.raises(ValueError, match="a BidafModel does no task that ctxzoo can score"):
        opened(base)
    with pytest.raises(TypeError, match="checkpoint is a int; expected a folder or a Hub id"):
        opened(3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "folder"}, "takes no model: the checkpoint says it"),
        ({"tokenizer": object()}, "takes no tokenizer"),
        ({"task": "fill-mask"}, "takes no task"),
        ({"trust_remote_code": True}, "takes no trust_remote_code: it never runs code of a checkpoint"),
    ],
)
def test_options_of_transformers_pipeline_that_mean_nothing_here(
    folders: dict[str, Path], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(TypeError, match=message):
        ctxzoo.pipeline(folders["fill-mask"], **options)


def test_explanations_are_those_of_the_model(folders: dict[str, Path]) -> None:
    model, tokenizer = lama(), build_word_tokenizer(WORDS)
    expected = explain_text(model, tokenizer, TEXT)
    for found in (
        ctxzoo.explain(folders["text-classification"], TEXT),
        ctxzoo.explain(model, [TEXT], tokenizer=tokenizer),
    ):
        (explanation,) = found
        assert explanation.words == ["The", "lamp", "is", "bad"]
        assert explanation.probabilities == pytest.approx(expected.probabilities, rel=1e-5)
        np.testing.assert_allclose(explanation.contributions, expected.contributions, atol=1e-5)
        np.testing.assert_allclose(explanation.attention, expected.attention, rtol=1e-5)
    assert [one.text for one in ctxzoo.explain(folders["text-classification"], ["solid", "bad"])] == ["solid", "bad"]


def test_what_cannot_be_explained(folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    said = "does question-answering, which is not explained by words; expected a model of text-classification"
    for reader, options in ((folders["question-answering"], {}), (tiny_model(), {"tokenizer": tiny_tokenizer()})):
        with pytest.raises(ValueError, match=said):
            ctxzoo.explain(reader, TEXT, **options)
    monkeypatch.delattr(TextPreTrainedModel, "get_input_embeddings")
    with (
        registered_toy(),
        pytest.raises(
            ValueError, match=r"does not say which table its word vectors are of; give it get_input_embeddings"
        ),
    ):
        ctxzoo.explain(toy_model(), TEXT, tokenizer=toy_tokenizer())
    with pytest.raises(ValueError, match="a LamaForSequenceClassification was given without its tokenizer"):
        ctxzoo.explain(lama(), TEXT)


def test_word_vectors_of_a_file_a_checkpoint_and_gensim(folders: dict[str, Path], tmp_path: Path) -> None:
    vectors = small_vectors()
    file = write_vectors(tmp_path / "vectors.txt", vectors)
    for source in (file, str(file), to_keyed_vectors(vectors)):
        found = ctxzoo.load_word_vectors(source)
        assert found.words == vectors.words
        assert torch.allclose(found.vectors, vectors.vectors)
        assert found.most_similar(["good"], top=3)[0][0] == "fine"
    assert ctxzoo.load_word_vectors(file, keep=["Paris"]).words == ["paris"]
    assert ctxzoo.load_word_vectors(file, limit=2).words == vectors.words[:2]
    trained = ctxzoo.load_word_vectors(folders["fill-mask"])
    assert trained.words == tiny_word_embedding.WORDS
    assert torch.equal(trained.vector("mill"), tiny_word_embedding.tiny_model().get_input_embeddings().weight[3])
    assert trained.fold_digits


def test_word_vectors_refuse(folders: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no such file of word vectors"):
        ctxzoo.load_word_vectors(tmp_path / "vectors.txt")
    with pytest.raises(ValueError, match="a checkpoint with model_type 'ctxzoo_lama', expected 'ctxzoo_word_"):
        ctxzoo.load_word_vectors(folders["text-classification"])
    with pytest.raises(TypeError, match="source is a list; expected a file, a checkpoint folder, a Hub id, or Keyed"):
        ctxzoo.load_word_vectors(["paris"])
    with pytest.raises(ValueError, match="limit and fold_digits are for files and checkpoints"):
        ctxzoo.load_word_vectors(to_keyed_vectors(small_vectors()), limit=3)


def test_no_bar_of_weights_is_shown(
    folders: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging, "_tqdm_active", True)  # a command of another test switches all bars off
    folder = folders["text-classification"]
    (tmp_path / "a.csv").write_text("text,label\nthe lamp,LABEL_0\n")
    LamaForSequenceClassification.from_pretrained(folder).save_pretrained(tmp_path / "plain")
    shown = capsys.readouterr().err
    assert all(bar in shown for bar in WEIGHTS_BARS)  # transformers' own
    ctxzoo.pipeline(folder)
    ctxzoo.explain(folder, TEXT)
    evaluate(str(folder), str(tmp_path / "a.csv"), "train", progress=False)
    write_lama(tmp_path / "written")
    shown = capsys.readouterr().err
    assert not any(bar in shown for bar in WEIGHTS_BARS)
    LamaForSequenceClassification.from_pretrained(folder)
    assert WEIGHTS_BARS[0] in capsys.readouterr().err  # nothing of it is switched off for good
