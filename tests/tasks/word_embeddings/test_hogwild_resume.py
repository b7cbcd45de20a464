"""A training of word vectors that was stopped goes on as if it had not been."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from ctxzoo.tasks.word_embeddings import hogwild_trainer
from ctxzoo.tasks.word_embeddings.corpus import Corpus
from ctxzoo.tasks.word_embeddings.hogwild_trainer import HogwildTrainer
from ctxzoo.tasks.word_embeddings.trainer_parts import EmbeddingProgress
from ctxzoo.training.interrupted import TrainingInterrupted
from tests.support.hogwild_runs import CHECKPOINT, CHUNK, corpus_of, model_of, settings, slowed, trainer_of
from tests.support.subprocesses import REPOSITORY_ROOT


class StoppedError(Exception):
    pass


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return corpus_of(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hogwild_trainer, "CHUNK_WORDS", CHUNK)
    monkeypatch.setattr(hogwild_trainer, "REPORT_SECONDS", 0.005)


@pytest.fixture(autouse=True)
def ctrl_c_is_heard() -> Iterator[None]:
    """A shell starts what runs in the background with the signal ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def stopped_at(words: int, stop: Any) -> Any:
    """A `report` that calls `stop` in the middle of a pass, after so many words."""

    def report(progress: EmbeddingProgress) -> None:
        if progress.words >= words and progress.words % (progress.total_words // 2):
            stop()

    return report


def raise_error() -> None:
    raise StoppedError


def assert_equal(one: HogwildTrainer, other: HogwildTrainer) -> None:
    states = one.model.state_dict(), other.model.state_dict()
    assert [name for name in states[0] if not states[0][name].equal(states[1][name])] == []
    assert one.progress.epoch_losses == other.progress.epoch_losses
    assert one.progress.words == other.progress.words


@pytest.mark.parametrize("share", [0.1, 0.7])
@pytest.mark.parametrize(
    ("stop", "raised"),
    [(raise_error, StoppedError), (lambda: signal.raise_signal(signal.SIGINT), TrainingInterrupted)],
    ids=["error", "ctrl-c"],
)
def test_stopped_and_resumed_equals_uninterrupted(
    corpus: Corpus, tmp_path: Path, share: float, stop: Any, raised: type[Exception]
) -> None:
    whole = trainer_of(corpus)
    whole.fit()
    checkpoint = tmp_path / CHECKPOINT
    wanted = int(share * whole.progress.total_words)
    stopped = slowed(trainer_of(corpus, checkpoint=checkpoint, report=stopped_at(wanted, stop)))
    with pytest.raises(raised):
        stopped.fit()
    assert wanted <= stopped.progress.words < whole.progress.total_words
    assert stopped.progress.epoch == int(2 * share)

    resumed = trainer_of(corpus, checkpoint=checkpoint)
    resumed.fit(resume=True)
    assert_equal(resumed, whole)
    assert resumed.progress.seconds > stopped.progress.seconds


def test_an_error_stops_the_threads_at_once(corpus: Corpus, tmp_path: Path) -> None:
    trainer = slowed(trainer_of(corpus, report=stopped_at(1, raise_error)), seconds=0.05)
    with pytest.raises(StoppedError):
        trainer.fit()
    # Pieces of 100 words, each of which waits 0.05 s: the first report stops the threads far from the end.
    assert 0 < trainer.progress.words < len(corpus.ids) / 2


def test_checkpoints_in_between_change_nothing(corpus: Corpus, tmp_path: Path) -> None:
    whole = trainer_of(corpus)
    whole.fit()
    often = slowed(trainer_of(corpus, checkpoint=tmp_path / CHECKPOINT, checkpoint_seconds=0))
    written: list[int] = []
    save = often._save_checkpoint

    def counted() -> None:
        save()
        written.append(often.progress.words)

    often._save_checkpoint = counted  # type: ignore[method-assign]
    often.fit()
    assert len(set(written)) > 6
    assert_equal(often, whole)


def test_a_finished_training_is_kept(corpus: Corpus, tmp_path: Path) -> None:
    whole = trainer_of(corpus, checkpoint=tmp_path / CHECKPOINT)
    whole.fit()
    again = trainer_of(corpus, checkpoint=tmp_path / CHECKPOINT)
    again.kernel = None  # type: ignore[assignment]
    again.fit(resume=True)
    assert_equal(again, whole)


def test_without_resume_a_checkpoint_is_not_read(corpus: Corpus, tmp_path: Path) -> None:
    (tmp_path / CHECKPOINT).write_bytes(b"anything")
    whole, anew = trainer_of(corpus), trainer_of(corpus, checkpoint=tmp_path / CHECKPOINT)
    whole.fit()
    anew.fit()
    assert_equal(anew, whole)


def test_a_checkpoint_of_another_training_is_refused_by_name(corpus: Corpus, tmp_path: Path) -> None:
    checkpoint = tmp_path / CHECKPOINT
    trainer_of(corpus, checkpoint=checkpoint).fit()
    others = {
        "learning_rate=0.1, not 0.2": trainer_of(corpus, training=settings(learning_rate=0.2), checkpoint=checkpoint),
        "seed=0, not 1": trainer_of(corpus, training=settings(seed=1), checkpoint=checkpoint),
        "threads=1, not 2": trainer_of(corpus, threads=2, checkpoint=checkpoint),
        "word_dim=8, not 7": HogwildTrainer(model_of(corpus, word_dim=7), corpus, settings(), checkpoint=checkpoint),
    }
    for message, trainer in others.items():
        with pytest.raises(ValueError, match=f"{CHECKPOINT} is of a training with {message}; resume with the same"):
            trainer.fit(resume=True)
    lines = (corpus.folder.parents[1] / "text.txt").read_text().split("\n")
    reordered = corpus_of(tmp_path / "reordered", lines[::-1])
    with pytest.raises(ValueError, match=f"corpus='{corpus.fingerprint}', not '{reordered.fingerprint}'"):
        trainer_of(reordered, checkpoint=checkpoint).fit(resume=True)


def test_a_file_that_is_no_checkpoint_is_named(corpus: Corpus, tmp_path: Path) -> None:
    checkpoint = tmp_path / CHECKPOINT
    checkpoint.write_bytes(b"half a file")
    with pytest.raises(ValueError, match=rf"{CHECKPOINT} is no checkpoint of a training: .*; remove it"):
        trainer_of(corpus, checkpoint=checkpoint).fit(resume=True)
    save_file({"x": np.zeros(1, np.float32)}, checkpoint)
    with pytest.raises(ValueError, match="is of a training with vocab_size=None"):
        trainer_of(corpus, checkpoint=checkpoint).fit(resume=True)


def test_a_checkpoint_is_written_whole_or_not_at_all(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint = tmp_path / CHECKPOINT
    trainer_of(corpus, checkpoint=checkpoint).fit()
    before = checkpoint.read_bytes()

    def disk_full(tensors: Any, path: Path, metadata: Any) -> None:
        path.write_bytes(b"half")
        raise OSError("no space left on device")

    monkeypatch.setattr(hogwild_trainer, "save_file", disk_full)
    with pytest.raises(OSError, match="no space left"):
        trainer_of(corpus, checkpoint=checkpoint).fit()
    assert [path.name for path in tmp_path.iterdir()] == [CHECKPOINT]
    assert checkpoint.read_bytes() == before


@pytest.mark.slow
def test_killed_and_resumed_equals_uninterrupted(tmp_path: Path) -> None:
    program = [sys.executable, "-m", "tests.support.hogwild_runs", str(tmp_path)]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY_ROOT) as process:
        assert process.stdout is not None
        assert re.match("in the second pass", process.stdout.readline())
        process.kill()
        assert process.wait(60) == -signal.SIGKILL
    corpus = corpus_of(tmp_path)
    whole, resumed = trainer_of(corpus), trainer_of(corpus, checkpoint=tmp_path / CHECKPOINT)
    whole.fit()
    resumed.fit(resume=True)
    assert_equal(resumed, whole)
    assert whole.progress.seconds < resumed.progress.seconds
