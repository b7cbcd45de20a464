"""Model cards, from the results of a run and what the registry knows, with an example of what the model gives."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from string import Template
from typing import Any

from huggingface_hub import ModelCardData

from ctxzoo.hub.card_facts import DATASET_FACTS, ArchitectureFacts, DatasetFacts, architecture_facts
from ctxzoo.hub.card_parts import REPO_PLACEHOLDER, Snippets, card_table, how_to_install, saved_with
from ctxzoo.hub.eval_results import is_hub_id, model_index, run_place, split_metrics
from ctxzoo.hub.folder_files import as_saved, sha256, travelling_files
from ctxzoo.hub.task_card import TaskCard
from ctxzoo.models import ARCHITECTURES
from ctxzoo.models.configuration_base import ZooConfig
from ctxzoo.results.result import RunResult
from ctxzoo.results.table_parts import mean_and_deviation

LICENCE = "apache-2.0"


def build_card(
    result: RunResult,
    config: ZooConfig,
    *,
    task: TaskCard,
    example: Mapping[str, Any],
    other_runs: Sequence[RunResult] = (),
    repo_id: str = REPO_PLACEHOLDER,
    dataset_facts: DatasetFacts | None = None,
    half: bool = False,
) -> str:
    """Return the text of README.md for the checkpoint of one run.

    Args:
        result: of the run that trained this checkpoint.
        config: of the checkpoint.
        task: that the checkpoint does, as `tasks.card_of` has it.
        example: inputs of the pipeline and what it gave for them; `task.example_keys` and more.
        other_runs: runs that differ from it in seed or fold only; the card then also gives mean and deviation.
        repo_id: what the snippets load.
        dataset_facts: of a dataset that `DATASET_FACTS` does not know.
        half: its weights are in half precision.

    Raises:
        ValueError: the architecture is unknown, the example lacks a key, or another run is of another kind.
    """
    if result.architecture not in ARCHITECTURES:
        raise ValueError(f"unknown architecture {result.architecture!r}; known: {', '.join(ARCHITECTURES)}")
    missing = [key for key in task.example_keys if key not in example]
    if missing:
        raise ValueError(f"the card's example lacks {', '.join(missing)}; it needs {', '.join(task.example_keys)}")
    _refuse_other_kinds(result, other_runs)
    architecture = as_saved(ARCHITECTURES[result.architecture], vars(config))
    facts = architecture_facts(architecture)
    known = {**DATASET_FACTS, "sample": task.sample}
    about = dataset_facts or known.get(result.dataset) or _unknown_dataset(result.dataset)
    template = Template(files("ctxzoo.hub").joinpath("card_template.md").read_text(encoding="utf-8"))
    snippets = task.snippets(example, repo_id)
    body = template.substitute(
        title=f"{facts.title}, {result.variant}, on {result.dataset}",
        summary=facts.summary,
        identity=_identity(result, config, task, half),
        example=_code(snippets.example),
        with_package=_code(snippets.with_package),
        without_package=_code(snippets.without_package),
        as_pipeline=_as_pipeline(task, snippets),
        results=_results(result, other_runs, task),
        comparable="\n\n".join(part for part in (about.comparable, task.comparable(result)) if part),
        limits=_bullets(_limits(result, config, facts, task, runs=1 + len(other_runs))),
        data=_data(result, about, task),
        settings=card_table(
            ["setting", "value"], [[name, _shown(value)] for name, value in sorted(result.settings.items())]
        ),
        environment=_environment(result),
        install=how_to_install(),
        saved=saved_with(),
        code=card_table(
            ["file", "sha256"],
            [[name, f"`{sha256(path)[:16]}`"] for name, path in travelling_files(architecture).items()],
        ),
        reproduce=_reproduce(result),
        citation=_code(facts.citation, "bibtex"),
    )
    return f"---\n{_metadata(result, facts, about, task).to_yaml()}\n---\n\n{body}"


def card_example(
    task: TaskCard, dataset: str, *, model: Any, tokenizer: Any, data: Any = None, split: str = "test"
) -> dict[str, Any]:
    """Return inputs of the task's pipeline with its output.

    The inputs are ours where `DATASET_FACTS` have some for the dataset or the task has some for any.

    Args:
        task: of the model.
        dataset: as results name it.
        model, tokenizer: what gives the output; the tokenizer is None for an architecture without one.
        data: DataModule that gives the inputs, and what is right, where there are none of ours and the task takes
            some.
        split: of that DataModule.

    Raises:
        ValueError: neither inputs of ours nor of data.
    """
    known = {**DATASET_FACTS, "sample": task.sample}.get(dataset)
    ours = task.own_example if known is None or known.example is None else known.example
    inputs = dict(ours or {})
    if not inputs and data is not None:
        inputs = task.split_example(data, split) or {}
    if not inputs:
        raise ValueError(f"no example for {dataset!r}; add one to its entry in ctxzoo/hub/card_facts.py")
    return {**inputs, **task.predict(model, tokenizer, inputs)}


def _metadata(result: RunResult, facts: ArchitectureFacts, about: DatasetFacts, task: TaskCard) -> ModelCardData:
    return ModelCardData(
        language=about.language,
        license=LICENCE,
        library_name="transformers",
        pipeline_tag=task.pipeline_tag,
        tags=["ctxzoo", "pytorch-lightning", *facts.tags],
        datasets=[result.dataset] if is_hub_id(result.dataset) else None,
        metrics=[metric.hub_type for metric in list(task.metrics.values())[:2]],
        model_name=f"{result.architecture}-{result.dataset.rsplit('/', 1)[-1]}-{result.variant}",
        eval_results=model_index(result, task),
    )


def _identity(result: RunResult, config: ZooConfig, task: TaskCard, half: bool) -> str:
    rows = [
        ["architecture", f"`{result.architecture}` (model type `{config.model_type}`)"],
        ["variant", task.variant(result)],
        *task.identity(config),
        [
            "parameters",
            f"{result.parameters['trainable']:,} trained, {result.parameters['total']:,} in all",
        ],
        ["weights", f"safetensors, no pickles{_in_half(result) if half else ''}"],
    ]
    return card_table(["", ""], rows)


def _in_half(result: RunResult) -> str:
    scored = "scored as they are" if result.settings.get("weights") == "float16" else "rounded after they were scored"
    return f"; in half precision, {scored}"


def _as_pipeline(task: TaskCard, snippets: Snippets) -> str:
    if snippets.as_pipeline is None:
        return ""
    return f"As a pipeline, also without ctxzoo. {task.pipeline_note}\n\n{_code(snippets.as_pipeline)}\n\n"


def _results(result: RunResult, other_runs: Sequence[RunResult], task: TaskCard) -> str:
    """Return a table of both splits of this run, with mean ± sample deviation where there are more runs."""
    splits = dict.fromkeys([result.split, "validation", "test"])
    shown = {split: values for split in splits if (values := split_metrics(result, split, task))}
    headings = ["metric", *(f"{split}, this checkpoint ({run_place(result)})" for split in shown)]
    runs = [result, *other_runs]
    if other_runs:
        headings.append(f"{result.split}, mean ± sd of {len(runs)} runs")
    names = [name for name in task.metrics if any(name in values for values in shown.values())]
    rows = []
    for name in names:
        row = [task.metrics[name].name]
        row += [f"{values[name]:.2f}" if name in values else "–" for values in shown.values()]
        if other_runs:
            row.append(mean_and_deviation([run.metrics.get(f"{result.split}/{name}") for run in runs]))
        rows.append(row)
    if not rows:
        return f"This run reported none of the metrics of {task.title}."
    return f"{card_table(headings, rows)}\n\n{task.results_note} {_run_labels(runs)}."


def _run_labels(runs: Sequence[RunResult]) -> str:
    """Name the seeds of the runs, and where there are folds those of each seed."""
    if all(run.fold is None for run in runs):
        return f"Seeds: {', '.join(str(run.seed) for run in runs)}"
    return f"Runs: {'; '.join(map(run_place, runs))}"


def _limits(result: RunResult, config: ZooConfig, facts: ArchitectureFacts, task: TaskCard, runs: int) -> Iterable[str]:
    if result.settings.get("tiny"):
        yield f"**A trial run on a few batches. Its {task.predictions} mean nothing.**"
    yield from facts.limits
    yield from task.limits(config, split_metrics(result, result.split, task))
    if runs == 1:
        which = "One seed" if result.fold is None else "One seed and one fold"
        yield f"{which}: differences of a point or two to another checkpoint may be chance."


def _data(result: RunResult, about: DatasetFacts, task: TaskCard) -> str:
    vectors = result.settings.get("word_vectors")
    lines = [
        f"- data: `{result.dataset}`. {about.description}",
        f"- licence of the data: {about.licence}; of these weights and the code: Apache-2.0.",
        f"- content hashes: {result.data['fingerprint']}",
    ]
    if vectors == "learned":
        lines.append("- word vectors: learned from the training split.")
    elif vectors:
        kept = "trained further" if result.settings.get("freeze_embeddings") is False else "kept as they are"
        lines.append(f"- word vectors: `{vectors}`, {kept}; their own licence applies.")
    return "\n".join([*lines, *(f"- {line}" for line in task.data_lines(result))])


def _environment(result: RunResult) -> str:
    hardware = result.hardware
    gpus = ", ".join(hardware.get("gpus") or []) or "none"
    rows = [
        ["processor", f"{hardware.get('cpu', 'unknown')}, {hardware.get('cores', '?')} cores"],
        ["GPUs", gpus],
        ["training", f"{result.wall_seconds / 60:.1f} minutes, {result.peak_memory_mb:,.0f} MiB at most"],
        ["finished", result.created],
        *([name, version] for name, version in sorted(result.versions.items())),
    ]
    return card_table(["", ""], rows)


def _reproduce(result: RunResult) -> str:
    note = f"{run_place(result).capitalize()}, commit `{result.commit}`."
    if result.commit.endswith("-dirty"):
        note += " The checkout had changes that are in no commit."
    return f"{_code(result.command, 'bash')}\n\n{note} Run it in a checkout of ctxzoo with the data in `$CTXZOO_DATA`."


def _refuse_other_kinds(result: RunResult, other_runs: Sequence[RunResult]) -> None:
    seeds_and_folds = [(run.seed, run.fold) for run in (result, *other_runs)]
    for run in other_runs:
        for name in ("architecture", "variant", "dataset", "split", "settings"):
            if getattr(run, name) != getattr(result, name):
                raise ValueError(
                    f"a run with seed {run.seed} has another {name}: {getattr(run, name)!r}, not "
                    f"{getattr(result, name)!r}; a mean needs runs that differ in seed or fold only"
                )
    if len(set(seeds_and_folds)) < len(seeds_and_folds):
        twice = statistics.mode(seeds_and_folds)
        raise ValueError(f"two runs with seed {twice[0]} and fold {twice[1]}; a mean would count one twice")


def _unknown_dataset(name: str) -> DatasetFacts:
    return DatasetFacts(
        description="ctxzoo keeps no description of it; see its source.",
        licence="that of the dataset; see its source",
        comparable=OTHER_DATA.format(name=name),
    )


OTHER_DATA = (
    "These scores compare with those of other models that were trained and tested on the same splits of `{name}`."
)


def _shown(value: object) -> str:
    if value is None or value == []:
        return "–"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _code(text: str, language: str = "python") -> str:
    return f"```{language}\n{text}\n```"


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)
