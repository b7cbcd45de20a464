"""Compiled loops are kept for later processes and give the same bits; where they cannot be kept, they are compiled."""

from __future__ import annotations

import hashlib
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from ctxzoo.tasks.word_embeddings import kernel as word_embedding_kernel
from ctxzoo.tasks.word_embeddings.kernel import build_kernel
from tests.support.hogwild_runs import corpus_of, trainer_of
from tests.support.warm_python import run_warm
from tests.tasks.word_embeddings.test_kernel import PLAIN, drawn_model, trained

TRAIN = f"from {__name__} import train; from pathlib import Path; train(Path({{folder!r}}))"


def train(folder: Path) -> None:
    """Print the weights after a training, and how often Numba compiled and read what was kept."""
    trainer = trainer_of(corpus_of(folder))
    trainer.fit()
    weights = b"".join(value.numpy().tobytes() for value in trainer.model.state_dict().values())
    (loops,) = (module for name, module in sys.modules.items() if name.startswith("kernel_loops_"))
    hits, misses = (sum(getattr(loops.train.stats, name).values()) for name in ("cache_hits", "cache_misses"))
    print(hashlib.sha256(weights).hexdigest(), hits, misses)


def in_a_process(folder: Path, cache: Path) -> list[str]:
    run = run_warm(TRAIN.format(folder=str(folder)), env={**os.environ, "CTXZOO_CACHE": str(cache)})
    return run.stdout.split()[-3:]


@pytest.mark.slow
def test_a_second_process_reads_what_the_first_compiled_and_a_third_cannot_keep_it(tmp_path: Path) -> None:
    first = in_a_process(tmp_path / "a", tmp_path / "cache")
    second = in_a_process(tmp_path / "b", tmp_path / "cache")
    assert (first[1:], second[1:]) == (["0", "1"], ["1", "0"])
    kept = [path.parent.name for path in (tmp_path / "cache").rglob("*.nbc")]
    assert len(kept) == 1
    (tmp_path / "file").write_text("no folder")
    third = in_a_process(tmp_path / "c", tmp_path / "file")
    assert first[0] == second[0] == third[0]


@pytest.mark.slow
def test_a_disk_that_is_full_when_the_code_is_written_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, _ = trained(drawn_model(), PLAIN)

    def full(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    build_kernel.cache_clear()
    monkeypatch.setenv("CTXZOO_CACHE", str(tmp_path / "other"))
    monkeypatch.setattr("numba.core.caching.IndexDataCacheFile.save", full)
    again, _ = trained(drawn_model(), PLAIN)
    build_kernel.cache_clear()
    assert (plain.input == again.input).all()
    assert not [*(tmp_path / "other").rglob("*.nbc")]


@pytest.mark.parametrize("how", ["changed", "link", "another user's"])
def test_code_that_is_not_the_packages_does_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, how: str
) -> None:
    monkeypatch.setenv("CTXZOO_CACHE", str(tmp_path))
    folder = tmp_path / f"kernel-{word_embedding_kernel._hash_plan_and_sources(PLAIN)}"
    loops = folder / word_embedding_kernel.LOOPS.name
    folder.mkdir()
    evil = tmp_path / "evil.py"
    evil.write_text(f"from pathlib import Path\nPath({str(tmp_path / 'ran')!r}).touch()\ntrain = None\n")
    if how == "link":
        loops.symlink_to(evil)
    else:
        loops.write_bytes(evil.read_bytes() if how == "changed" else word_embedding_kernel.LOOPS.read_bytes())
    if how == "another user's":
        monkeypatch.setattr(os, "geteuid", lambda: 4242)
        monkeypatch.setattr(word_embedding_kernel, "ROOT", 4243)
    build_kernel.cache_clear()
    assert build_kernel(PLAIN) is not None
    build_kernel.cache_clear()
    assert not (tmp_path / "ran").exists()
    assert "compiled anew" in caplog.text
    assert loops.read_bytes() == word_embedding_kernel.LOOPS.read_bytes()
    assert not loops.is_symlink()


def test_other_plans_and_other_sources_are_compiled_by_themselves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = {
        word_embedding_kernel._hash_plan_and_sources(plan)
        for plan in (PLAIN, replace(PLAIN, window=3), replace(PLAIN, noise=4))
    }
    assert len(keys) == 3
    texts = {name: word_embedding_kernel.LOOPS.with_name(name).read_text() for name in word_embedding_kernel.SOURCES}
    monkeypatch.setattr(word_embedding_kernel, "LOOPS", tmp_path / word_embedding_kernel.LOOPS.name)
    for changed in texts:
        for name, text in texts.items():
            (tmp_path / name).write_text(text + ("# changed\n" if name == changed else ""))
        keys.add(word_embedding_kernel._hash_plan_and_sources(PLAIN))
    assert len(keys) == 3 + len(word_embedding_kernel.SOURCES)


def test_every_source_of_the_compiled_code_decides() -> None:
    """What the loops import of ours is among the sources."""
    lines = word_embedding_kernel.LOOPS.read_text().splitlines()
    imported = {line.split()[1].rsplit(".", 1)[-1] + ".py" for line in lines if line.startswith("from ctxzoo.")}
    assert imported < set(word_embedding_kernel.SOURCES)
