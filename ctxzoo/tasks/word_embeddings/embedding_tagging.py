"""Part-of-speech tagging as an evaluation of word vectors: the tagger of Ling et al. (2015) starts from them."""

from __future__ import annotations

from dataclasses import replace

from ctxzoo.tasks.token_classification.run import TaggerRun, TaggingSettings, tagging_run
from ctxzoo.tasks.word_embeddings.evaluation_run import EmbeddingSource

TASK = "pos_tagging"
DATASET = "ptb_sample"


def embedding_tagging_run(source: EmbeddingSource, settings: TaggingSettings, *, recipe: str, commit: str) -> TaggerRun:
    """One training on the treebank's own tags, with the seed of the vectors.

    Its results file is that of the tagger, with `<architecture>-b<window>[-<name>]` as variant; its settings also tell
    which vectors these are, as those of all evaluations of vectors do.

    Args:
        source: the vectors.
        settings: of the tagger.
        recipe, commit: for the results file.
    """
    run = tagging_run(
        settings,
        DATASET,
        vectors=source.path,
        vectors_name="-".join(part for part in (source.variant, source.name) if part),
        seed=source.seed,
        recipe=recipe,
        commit=commit,
    )
    spec = replace(run.spec, settings={**source.settings, **run.spec.settings, "task": TASK})
    return replace(run, spec=spec)
