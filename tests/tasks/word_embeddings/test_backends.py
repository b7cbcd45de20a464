"""Which trainer is taken, with and without Numba."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from ctxzoo.tasks.word_embeddings.backends import NumbaBackend, TorchBackend, choose_backend_name
from tests.support.warm_python import WITHOUT_HUB, run_warm


@pytest.fixture
def no_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numba", None)


def test_numba_is_taken_where_it_is_installed(capsys: pytest.CaptureFixture[str]) -> None:
    assert [choose_backend_name(name) for name in (None, "numba", "torch")] == ["numba", "numba", "torch"]
    assert capsys.readouterr().out == ""


@pytest.mark.usefixtures("no_numba")
def test_without_numba_torch_is_taken_with_a_notice(capsys: pytest.CaptureFixture[str]) -> None:
    assert choose_backend_name(None) == "torch"
    assert "numba is not installed: torch trains, which is slower on a CPU; pip install numba" in (
        capsys.readouterr().out
    )
    assert choose_backend_name("torch") == "torch"
    assert capsys.readouterr().out == ""


@pytest.mark.usefixtures("no_numba")
def test_numba_that_is_asked_for_and_missing_names_the_extra() -> None:
    with pytest.raises(ValueError, match=r"not installed: pip install numba, or take the backend torch"):
        choose_backend_name("numba")


def test_an_unknown_backend_is_named() -> None:
    with pytest.raises(ValueError, match="backend is 'jax'; expected numba or torch"):
        choose_backend_name("jax")


def test_only_what_decides_the_result_is_told() -> None:
    assert NumbaBackend(2).told == {"threads": 2}
    told = TorchBackend(batch_size=512, num_workers=3, accelerator="cpu", devices="2").told
    assert told == {"backend": "torch", "batch_size": 512, "devices": "2", "precision": "32-true"}


@pytest.mark.parametrize(
    ("backend", "options", "message"),
    [
        (NumbaBackend, {"threads": 0}, "threads is 0; expected 1 or more"),
        (TorchBackend, {"batch_size": 0}, "batch_size is 0; expected 1 or more"),
        (TorchBackend, {"batch_size": 8, "num_workers": -1}, "num_workers is -1; expected 0 or more"),
        (TorchBackend, {"batch_size": 8, "precision": "8"}, "precision is '8'; expected 32-true or bf16-mixed"),
    ],
)
def test_options_out_of_range_do_not_wait_for_the_text(backend: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        backend(**options)


def test_what_trains_with_torch_is_imported_without_numba() -> None:
    code = (
        "import sys; sys.modules['numba'] = None; "
        "import ctxzoo.tasks.word_embeddings.run, recipes.wikipedia_attention_cbow as recipe; "
        "print(recipe.Settings().backend)"
    )
    done = run_warm(code, env=WITHOUT_HUB)
    assert done.stdout.splitlines()[-1] == "torch"
