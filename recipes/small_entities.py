"""Learning curves of the default tagger on spans beside simple models: two sets, 400 and 1,000 sentences of each.

    python recipes/small_entities.py                                  two sets, two sizes, two models, five draws
    python recipes/small_entities.py --datasets sample --train_rows 20 --seeds 0 --tiny
    python recipes/small_entities.py --seeds 3 4 --resume             finished runs are kept, the others go on

Sets: chunks, those of CoNLL-2000; names, runs of proper nouns (upos PROPN) of the English Web Treebank, in the place of
entities, of which no set is at hand; sample, runs of generated nouns. Each draw takes so many sentences of the training
part, which are divided as `ctxzoo train` divides a file. The test rows are those of the set's validation part: its own
test part is not read. Models: default, what a user gets; simple models as `BASELINES` has them, among them a
conditional random field of ten plain features. A YAML file of options may come first.
"""

from __future__ import annotations

import ctxzoo.openmp  # noqa: F401  before torch is loaded

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import datasets
import numpy as np

from ctxzoo.data.own_splits import OwnRows, write_own_splits
from ctxzoo.runs.experiment import Experiment
from ctxzoo.runs.many import run_all
from ctxzoo.runs.recipe import Study, run_study
from ctxzoo.runs.train import ExperimentRun
from ctxzoo.tasks.token_classification.baselines import BASELINES, RANDOM_FIELD, TagRun
from ctxzoo.tasks.token_classification.experiments import ARCHITECTURE, TOKEN_DATASETS, build_default_experiment
from ctxzoo.tasks.token_classification.problem import TOKEN_CLASSIFICATION
from ctxzoo.tasks.token_classification.reader import assign_rows_to_splits, check_tokens, group_sentences, load_tokens
from ctxzoo.tasks.token_classification.sources import TAGS, TOKENS

# Name to corpus, column of tags, and the tag whose runs are spans; empty: the tags are those of spans.
SETS = {
    "chunks": ("conll2000_pos", "chunk_tags", ""),
    "names": ("ud_english_ewt", "upos", "PROPN"),
    "sample": ("sample", "pos_tags", "NN"),
}
DEFAULT = "default"
MODELS = (DEFAULT, RANDOM_FIELD)
BASE = build_default_experiment(ARCHITECTURE, ARCHITECTURE).copy_with(recipe="small_entities", score="test")


def main(
    experiment: Experiment,
    datasets: Sequence[str] = ("chunks", "names"),
    train_rows: Sequence[int] = (400, 1000),
    models: Sequence[str] = MODELS,
    seeds: Sequence[int] = tuple(range(5)),
) -> None:
    """Train and score every model on so many sentences of every set, drawn by every seed, and print a table.

    Args:
        experiment: Experiment with the settings that all its trainings share.
        datasets: Names of sets: chunks, names or sample.
        train_rows: Numbers of training sentences, a tenth of which is held out for validation.
        models: Models to train: default, or names of simple models.
        seeds: Seeds of the drawn sentences and of all else.
    """
    runs: dict[str, list[ExperimentRun | TagRun]] = {}
    for name in datasets:
        for rows in train_rows:
            for seed in seeds:
                drawn = draw_rows(experiment.copy_with(seed=seed), name, rows)
                for model in models:
                    runs.setdefault(f"{name}, {rows}, {model}", []).append(build_run(drawn, model))
    run_all(runs, "on the validation part of each set, mean ± sd", experiment.run)


def draw_rows(experiment: Experiment, name: str, number: int) -> Experiment:
    """Return the experiment on so many training sentences of a set, which its seed draws and which are written.

    Raises:
        ValueError: the set is none of `SETS`.
    """
    if name not in SETS:
        raise ValueError(f"{name!r} is none of {', '.join(SETS)}")
    corpus, column, of_spans = SETS[name]
    source = TOKEN_DATASETS[corpus]["dataset"]
    checked = check_tokens(load_tokens(source, experiment.run.data_dir), column, origin=source)
    places = assign_rows_to_splits(checked.splits)
    parts = {}
    for split, read in (("train", "train"), ("test", "validation")):
        from_split, rows = places[read]
        if split == "train":
            rows = np.random.default_rng(experiment.seed).permutation(rows)[:number]
        parts[split] = checked.splits[from_split].select(rows)
    names, tags = list(checked.label_names), {split: part["labels"][:] for split, part in parts.items()}
    if of_spans:
        label = names.index(of_spans)
        names = ["O", "B-NAME", "I-NAME"]
        tags = {split: [mark_runs(one, label) for one in sentences] for split, sentences in tags.items()}
    features = datasets.Features(
        {TOKENS: datasets.List(datasets.Value("string")), TAGS: datasets.List(datasets.ClassLabel(names=names))}
    )
    splits = {
        split: datasets.Dataset.from_dict({TOKENS: part[TOKENS][:], TAGS: tags[split]}, features=features)
        for split, part in parts.items()
    }
    own = OwnRows(splits=splits, **vars(group_sentences(check_tokens(splits, TAGS, origin=name))))
    folder = Path(experiment.run.output_dir) / experiment.recipe
    folder.mkdir(parents=True, exist_ok=True)
    written = write_own_splits(own, name, folder)
    return experiment.copy_with(dataset=source, named=source, rows=written.folder.name, tag=f"rows{number}")


def mark_runs(labels: Sequence[int], label: int) -> list[int]:
    """Return tags of a sentence that make spans of its runs of a label: 0 outside, 1 at the first word, 2 behind."""
    return [0 if one != label else 1 + (before == label) for before, one in pairwise([-1, *labels])]


def build_run(experiment: Experiment, model: str) -> ExperimentRun | TagRun:
    """Return the run of a model of `MODELS`, or of another simple one, on the data of the experiment."""
    if model == DEFAULT:
        return ExperimentRun(TOKEN_CLASSIFICATION, experiment.copy_with(row=model))
    return TagRun(TOKEN_CLASSIFICATION, TagRun.build_experiment(experiment, model))


CHOICES = {"datasets": tuple(SETS), "models": (DEFAULT, *BASELINES)}
STUDY = Study(main, TOKEN_CLASSIFICATION, BASE, {"dataset": "datasets", "variant": "models"}, CHOICES)

if __name__ == "__main__":
    run_study(STUDY, __doc__)
