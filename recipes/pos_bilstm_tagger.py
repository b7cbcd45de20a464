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

from collections.abc import Sequence
from functools import partial

from ctxzoo.runs.experiment import Experiment
from ctxzoo.runs.many import run_rows
from ctxzoo.runs.recipe import Study, run_study
from ctxzoo.runs.train import ExperimentRun
from ctxzoo.tasks.token_classification.experiments import build_paper_experiment, set_corpus
from ctxzoo.tasks.token_classification.problem import TOKEN_CLASSIFICATION

BASE = build_paper_experiment().copy_with(recipe="pos_bilstm_tagger")
NONE = "none"


def main(
    experiment: Experiment,
    dataset: Sequence[str] = ("ptb_sample",),
    vectors: Sequence[str] = (NONE,),
    seeds: Sequence[int] = (0,),
) -> None:
    """Train and score a part-of-speech tagger on every dataset, from all word vectors with every seed; print a table.

    Args:
        experiment: Experiment with the settings that all its trainings share.
        dataset: Names of datasets: ptb_sample, ud_english_ewt, brown_pos, conll2000_pos, sample; or any other with
            --tags.
        vectors: Pretrained word vectors, one training each: files, checkpoint folders or Hub ids; none: random vectors.
        seeds: Seeds of all random draws; each gives a run of its own.
    """
    rows = [
        (f"{name}, {file}", set_corpus(experiment, name, None if file == NONE else file))
        for name in dataset
        for file in vectors
    ]
    title = f"tagging: {experiment.score} accuracy over words, mean ± sd over seeds"
    run_rows(partial(ExperimentRun, TOKEN_CLASSIFICATION), rows, seeds, title)


STUDY = Study(main, TOKEN_CLASSIFICATION, BASE, {"tags": "tag_column", "word_vectors": "vectors"})

if __name__ == "__main__":
    run_study(STUDY, __doc__)
