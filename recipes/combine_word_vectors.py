"""One set of word vectors from two: the gaps of the first filled by the second, or both side by side.

    python recipes/combine_word_vectors.py --base glove.6B.100d.txt --other RUN/checkpoint --name filled
    python recipes/combine_word_vectors.py --base A --other B --how concatenate --name both

RUN is a run of recipes/wikipedia_attention_cbow.py. A word is the same in both if it is spelled alike. The file,
runs/word_vectors/NAME.bin, has the binary format of word2vec, which every option for word vectors reads. A YAML file of
settings may come first.
"""

from __future__ import annotations

import ctxzoo.openmp  # noqa: F401  before torch is loaded

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from ctxzoo.data.files import check_folder_is_writable
from ctxzoo.runs.recipe import run_recipe
from ctxzoo.training.arguments import COUNT, Args, number_field
from ctxzoo.word_vectors.combination import concatenate_word_vectors, fill_word_vectors
from ctxzoo.word_vectors.exchange import save_word2vec_binary
from ctxzoo.word_vectors.vectors import read_word_vectors

HOW = {"fill": fill_word_vectors, "concatenate": concatenate_word_vectors}


@dataclass(frozen=True, kw_only=True)
class Settings(Args):
    """What is combined.

    Args:
        base: Word vectors that stay unchanged: a file, checkpoint folder or name of built vectors.
        other: Word vectors to add to them: a file, checkpoint folder or name of built vectors.
        how: Way of combining: fill, words missing in --base are mapped from --other; concatenate, both vectors of a
            word are joined.
        vectors_std: Standard deviation to which all entries of the result are scaled; 0: unscaled.
        name: Name of the file of combined vectors, without a suffix.
        output_dir: Folder into which the file is written.
    """

    base: str = ""
    other: str = ""
    how: Literal["fill", "concatenate"] = "fill"
    vectors_std: float = number_field(0.0, COUNT)
    name: str = ""
    output_dir: str = "runs/word_vectors"

    def __post_init__(self) -> None:
        """Check that both sets of word vectors and the name of the file are given."""
        super().__post_init__()
        for name in ("base", "other", "name"):
            if not getattr(self, name):
                raise ValueError(f"--{name} names nothing; give two sets of word vectors and a name for the file")


def main(settings: Settings) -> None:
    """Combine two sets of word vectors, and write them into one file."""
    output = Path(settings.output_dir) / f"{settings.name}.bin"
    check_folder_is_writable(output.parent)
    base, other = read_word_vectors(settings.base), read_word_vectors(settings.other)
    vectors = HOW[settings.how](base, other, settings.name)
    if settings.vectors_std:
        vectors = replace(vectors, vectors=vectors.vectors * (settings.vectors_std / vectors.vectors.std()))
    save_word2vec_binary(vectors, output)
    print(f"{base.name}: {len(base):,} words; {other.name} adds {len(vectors) - len(base):,}")
    print(f"{output}: {len(vectors):,} words, {vectors.dim} numbers each")


if __name__ == "__main__":
    run_recipe(Settings, main, __doc__)
