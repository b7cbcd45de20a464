"""Pictures at the end of trainings: rendered once of each kind in a session, as that is a third of a tiny training.

Further ones are blank. What draws a picture is called each time, and tests of pictures, which call it themselves, have
theirs rendered.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from io import BytesIO
from types import CodeType
from typing import Any

import pytest
from matplotlib.figure import Figure

_render = Figure.savefig
_rendered: set[CodeType] = set()


@cache
def _blank() -> bytes:
    buffer = BytesIO()
    _render(Figure(figsize=(0.1, 0.1)), buffer, format="png")
    return buffer.getvalue()


def _render_once(figure: Figure, out: BytesIO, **options: Any) -> None:
    kind = sys._getframe(2).f_code  # of the function that calls `save_figure`
    if kind in _rendered:
        out.write(_blank())
    else:
        _rendered.add(kind)
        _render(figure, out, **options)


def with_blank_repeats(draw: Callable[..., None]) -> Callable[..., None]:
    """Return `draw`, which renders no kind of picture twice, unless a test has put a look-out in the way."""

    def drawn(*arguments: Any) -> None:
        with pytest.MonkeyPatch.context() as patch:
            if Figure.savefig is _render:
                patch.setattr(Figure, "savefig", _render_once)
            draw(*arguments)

    return drawn
