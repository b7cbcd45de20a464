"""Part-of-speech tagging with a BiLSTM over given or drawn word vectors: the tagging column of Ling et al. (2015).

    python recipes/pos_bilstm_tagger.py --vectors vectors.txt               the Penn Treebank sample
    python recipes/pos_bilstm_tagger.py --dataset ud_english_ewt --tags upos --vectors none --seeds 0 1 2
    python recipes/pos_bilstm_tagger.py --dataset sample --epochs 5         no network needed
    python recipes/pos_bilstm_tagger.py --resume                            finished runs are kept, the others go on

Datasets: ptb_sample, ud_english_ewt, brown_pos (cut by file: of each ten one for validation, one for test),
conll2000_pos (the last tenth of its training sentences is for validation), sample; or any Hub id or folder with its
column of tags. Vectors should be of words as the tagger reads them: in small letters with every digit a 0, or as
--lower_case and --fold_digits say. Settings are the paper's, or those of docs/models/bilstm_tagger.md where it is
silent; --name tells runs with other settings from them. A YAML file of settings may come first.
"""

from __future__ import annotations

import ctxzoo.openmp  # noqa: F401  before torch is loaded

from dataclasses import dataclass, field

from ctxzoo.results.environment import git_commit
from ctxzoo.runs.many import run_all
from ctxzoo.runs.recipe import run_recipe
from ctxzoo.tasks.token_classification.data import TOKEN_DATASETS
from ctxzoo.tasks.token_classification.run import TaggingSettings, tagging_run

RECIPE = "pos_bilstm_tagger"
NONE = "none"


@dataclass
class Settings(TaggingSettings):
    dataset: list[str] = field(
        default_factory=lambda: ["ptb_sample"], metadata={"help": f"of {', '.join(TOKEN_DATASETS)}; or any other"}
    )
    tags: str | None = field(
        default=None, metadata={"help": "column of tags, as upos; default: the treebank's own tags"}
    )
    vectors: list[str] = field(
        default_factory=lambda: [NONE], metadata={"help": "files of word vectors, or none: drawn ones"}
    )
    name: str = field(default="", metadata={"help": "tells runs with other settings from those of the paper"})


def main(settings: Settings) -> None:
    commit = git_commit()
    runs = {
        f"{dataset}, {vectors}": [
            tagging_run(
                settings,
                dataset,
                vectors=None if vectors == NONE else vectors,
                tag_column=settings.tags,
                seed=seed,
                recipe=RECIPE,
                commit=commit,
                tag=settings.name,
            )
            for seed in settings.seeds
        ]
        for dataset in settings.dataset
        for vectors in settings.vectors
    }
    run_all(runs, f"tagging: {settings.score} accuracy over words, mean ± sd over seeds", settings)


if __name__ == "__main__":
    run_recipe(Settings, main, __doc__)
