"""Word vectors on every task: POS induction, word similarity, analogies, sentiment, POS tagging.

    python recipes/embedding_evaluation.py --vectors runs/…/checkpoint                   all tasks
    python recipes/embedding_evaluation.py --vectors A B C --seeds 0 1 2 --resume        finished tasks are kept
    python recipes/embedding_evaluation.py --vectors vectors.txt --tasks similarity analogy
    python recipes/embedding_evaluation.py --vectors A --name subsampled                 for vectors of other settings

Vectors are files of word vectors, checkpoint folders of the architecture WordEmbedding, or Hub ids of such. Each task
of each leaves <architecture>-b<window>-seed<seed>[-<name>]-<task>.json below --results_dir; for a file, which says
nothing of architecture and window, its name stands for them. POS tagging trains a tagger, which leaves
<architecture>-b<window>[-<name>]-ptb_sample-test-seed<seed>-pos_tags.json and a checkpoint. A YAML file of settings
may come first.
"""

from __future__ import annotations

import ctxzoo.openmp  # noqa: F401  before torch is loaded

from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console
from rich.table import Table

from ctxzoo.data.files import check_folder_is_writable
from ctxzoo.results.environment import git_commit
from ctxzoo.results.result import RESULTS_DIR
from ctxzoo.runs.experiment import RunArgs
from ctxzoo.runs.many import run_all
from ctxzoo.runs.recipe import run_recipe
from ctxzoo.runs.run import execute
from ctxzoo.tasks.token_classification.experiments import build_paper_experiment
from ctxzoo.tasks.token_classification.problem import TOKEN_CLASSIFICATION
from ctxzoo.tasks.word_embeddings.evaluation_run import (
    TAGGING,
    EmbeddingRun,
    EmbeddingSource,
    EmbeddingTaggerRun,
    build_embedding_tagger_run,
)
from ctxzoo.tasks.word_embeddings.evaluations import (
    HEADINGS,
    POS_TAGS,
    Evaluation,
    EvaluationOptions,
    check_task_names,
    format_score_rows,
)
from ctxzoo.tasks.word_embeddings.evaluations import TASKS as EMBEDDING_TASKS
from ctxzoo.tasks.word_embeddings.pos_induction import DATASET, RESTARTS
from ctxzoo.training.arguments import COUNT, SEED, SIZE, Args, number_field

RECIPE = "embedding_evaluation"
TASKS = (*EMBEDDING_TASKS, TAGGING)


@dataclass(frozen=True, kw_only=True)
class Settings(Args):
    """What is evaluated.

    Args:
        vectors: Word vectors to evaluate: files, checkpoint folders or Hub ids.
        seeds: Seeds with which the vectors were trained, for the results files: one for each, or one for all.
        name: Name in results files that distinguishes vectors trained with other settings; empty: none.
        tasks: Names of evaluation tasks: pos_induction, similarity, analogy, sentiment, pos_tags.
        fold_digits: Whether digits of a looked-up word become 0; null: as a checkpoint's tokenizer does.
        pos_dataset: Hub id or folder of tagged sentences for POS induction.
        pos_tags: Names of the tag columns for POS induction.
        restarts: Number of trainings from different random starts, for POS induction.
        evaluation_seed: Seed of the evaluations' random draws.
        threads: Number of restarts or taggers that train at the same time; 0: one for each core.
        data_dir: Folder that holds datasets as <namespace>/<name>; null: the environment variable CTXZOO_DATA.
        resume: Whether finished evaluations with the same settings are kept.
        tiny: Whether two restarts and a small tagger on a few batches are run, to check that everything works.
        output_dir: Folder of trained taggers, and of lock files.
        results_dir: Folder of results files, one JSON file for each run.
    """

    vectors: tuple[str, ...] = ()
    seeds: tuple[int, ...] = number_field((0,), SEED)
    name: str = ""
    tasks: tuple[str, ...] = TASKS
    fold_digits: bool | None = None
    pos_dataset: str = DATASET
    pos_tags: tuple[str, ...] = POS_TAGS
    restarts: int = number_field(RESTARTS, SIZE)
    evaluation_seed: int = number_field(0, SEED)
    threads: int = number_field(0, COUNT)
    data_dir: str | None = None
    resume: bool = False
    tiny: bool = False
    output_dir: str = "runs"
    results_dir: str = RESULTS_DIR

    def __post_init__(self) -> None:
        """Check the tasks' names, that there are word vectors, and the number of seeds."""
        super().__post_init__()
        check_task_names(self.tasks, TASKS)
        if not self.vectors:
            raise ValueError("--vectors names nothing; give files, checkpoint folders or Hub ids")
        if len(self.seeds) not in (1, len(self.vectors)):
            raise ValueError(
                f"{len(self.seeds)} --seeds for {len(self.vectors)} --vectors; give one for each, or one for all"
            )


def main(settings: Settings) -> None:
    """Evaluate every set of word vectors on every task, and train taggers from them."""
    commit = git_commit()
    seeds = settings.seeds if len(settings.seeds) > 1 else settings.seeds * len(settings.vectors)
    sources = [
        EmbeddingSource(path=path, seed=seed, name=settings.name, fold_digits=settings.fold_digits)
        for path, seed in zip(settings.vectors, seeds, strict=True)
    ]
    tasks = [task for task in settings.tasks if task != TAGGING]
    evaluations = {
        source: [build_evaluation_run(source, task, settings, commit) for task in tasks] for source in sources
    }
    taggers = {source: build_tagger_run(source, settings, commit) for source in sources if TAGGING in settings.tasks}
    files = [(run.results_file.name, source.path) for source, runs in evaluations.items() for run in runs]
    refuse_shared_results_files([*files, *((run.results_file.name, source.path) for source, run in taggers.items())])
    check_folder_is_writable(Path(settings.results_dir) / RECIPE, "--results_dir")
    if tasks:
        for source, runs in evaluations.items():
            evaluate_vectors(source, runs, settings)
    if taggers:
        train_taggers(list(taggers.values()), settings)


def evaluate_vectors(source: EmbeddingSource, runs: list[EmbeddingRun], settings: Settings) -> None:
    """Evaluate one set of word vectors on its tasks, write results files, and print a table of scores."""
    table = Table(*HEADINGS, title=f"{source.variant}, seed {source.seed}")
    for run in runs:
        found: list[Evaluation] = []
        result = execute(replace(run, show=found.append), resume=settings.resume)
        rows = format_score_rows(run.task, found[0]) if found else [[run.task, "finished before", "", "", ""]]
        for row in rows:
            table.add_row(*row)
        print(f"{run.results_file.name}: {result.wall_seconds:.1f} s", flush=True)
    Console().print(table)


def train_taggers(runs: list[EmbeddingTaggerRun], settings: Settings) -> None:
    """Train and score the part-of-speech taggers that start from word vectors, and print a table."""
    by_variant: dict[str, list[EmbeddingTaggerRun]] = {}
    for run in runs:
        by_variant.setdefault(run.variant, []).append(run)
    title = "POS tagging from each vectors: test accuracy over words, mean ± sd over trainings"
    run_all(by_variant, title, RunArgs(resume=settings.resume, processes=settings.threads))


def build_evaluation_run(source: EmbeddingSource, task: str, settings: Settings, commit: str) -> EmbeddingRun:
    """Return the run that evaluates one set of word vectors on one task."""
    options = EvaluationOptions(
        data_dir=settings.data_dir,
        pos_dataset=settings.pos_dataset,
        pos_tags=settings.pos_tags,
        restarts=2 if settings.tiny else settings.restarts,
        seed=settings.evaluation_seed,
        threads=settings.threads,
    )
    return EmbeddingRun(
        source=source,
        task=task,
        evaluation=EMBEDDING_TASKS[task],
        options=options,
        recipe=RECIPE,
        commit=commit,
        results_dir=settings.results_dir,
        output_dir=settings.output_dir,
    )


def build_tagger_run(source: EmbeddingSource, settings: Settings, commit: str) -> EmbeddingTaggerRun:
    """Return the run that trains a part-of-speech tagger from one set of word vectors."""
    places = {name: getattr(settings, name) for name in ("data_dir", "output_dir", "results_dir")}
    experiment = build_paper_experiment().copy_with(
        recipe=RECIPE, commit=commit, tensorboard=False, progress=False, **places
    )
    return build_embedding_tagger_run(
        source, TOKEN_CLASSIFICATION.make_tiny(experiment) if settings.tiny else experiment
    )


def refuse_shared_results_files(files: list[tuple[str, str]]) -> None:
    """Raise ValueError if two sets of word vectors would write the same results file.

    `files` are pairs of a results file's name and the path of the vectors.
    """
    owner: dict[str, str] = {}
    for name, path in files:
        first = owner.setdefault(name, path)
        if first != path:
            raise ValueError(
                f"{first} and {path} would both write {name}; give them --seeds of their own, or a --name in a run of "
                "their own"
            )


if __name__ == "__main__":
    run_recipe(Settings, main, __doc__)
