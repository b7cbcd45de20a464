"""Model cards, from the results of a run and what the registry knows, with an example of what the model gives."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from string import Template
from typing import Any

from huggingface_hub import ModelCard, ModelCardData

from ctxzoo.data.notices import format_count
from ctxzoo.hub.card_facts import DATASET_FACTS, ArchitectureFacts, DatasetFacts, load_architecture_facts
from ctxzoo.hub.card_parts import (
    REPO_PLACEHOLDER,
    Snippets,
    describe_installation,
    escape_markdown,
    format_card_table,
    format_code_block,
    format_code_span,
    get_source_url,
)
from ctxzoo.hub.eval_results import build_model_index, describe_seed_and_fold, is_hub_id, select_split_metrics
from ctxzoo.hub.folder_files import drop_unused_tokenizer
from ctxzoo.hub.packing import WITHOUT_CODE
from ctxzoo.hub.task_card import TaskCard
from ctxzoo.models import ARCHITECTURES
from ctxzoo.models.configuration_base import ZooConfig
from ctxzoo.results.intervals import compute_score_interval
from ctxzoo.results.result import RunResult
from ctxzoo.results.table_parts import format_mean_and_deviation

LICENCE = "apache-2.0"  # of checkpoints that are trained on data that `DATASET_FACTS` know
UNKNOWN = "ctxzoo keeps no description of it; see its source."
OF_THE_DATA = ""  # the example that `--example` without a text asks for
NOT_CHOSEN = "of these weights: none was chosen (`ctxzoo push --license` names one)"


@dataclass(frozen=True)
class CardOptions:
    """What a user says of a card for a checkpoint of data that ctxzoo does not know; nothing of it is guessed.

    Attributes:
        example: Text for the example in the card; `OF_THE_DATA`: one of the scored split; None: one that comes with
            ctxzoo.
        licence: Licence of the weights by its name on the Hub; None: the card names none.
        language: Languages of the texts as codes of the Hub; empty: the card names none.
    """

    example: str | None = None
    licence: str | None = None
    language: tuple[str, ...] = ()


@dataclass(frozen=True)
class Surroundings:
    """What a card says of a published checkpoint beside its own run.

    Attributes:
        title: Title of the card in words; empty: built from the architecture and the problem.
        other_runs: Results of runs that differ from the checkpoint's run in seed or fold only, so that the card can
            give mean and deviation.
        baselines: Name of a simple model, with its article, to its results on the same split.
        failure: Example on which the model fails: inputs of the pipeline, its output, and under "right" the right
            output; "answer" names the wrong value. None: no example.
        see_also: Markdown sentences that point to related folders.
    """

    title: str = ""
    other_runs: Sequence[RunResult] = ()
    baselines: Mapping[str, Sequence[RunResult]] = field(default_factory=dict)
    failure: Mapping[str, Any] | None = None
    see_also: Sequence[str] = ()


def build_card(
    result: RunResult,
    config: ZooConfig,
    *,
    task: TaskCard,
    example: Mapping[str, Any],
    surroundings: Surroundings | None = None,
    repo_id: str = REPO_PLACEHOLDER,
    dataset_facts: DatasetFacts | None = None,
    half: bool = False,
    options: CardOptions | None = None,
) -> str:
    """Return the text of README.md for the checkpoint of one run; its section on code says that the folder holds none.

    Args:
        result: Results of the run that trained this checkpoint.
        config: Configuration of the checkpoint's model.
        task: Problem that the checkpoint solves, as `tasks.get_card_of_head` returns it.
        example: Inputs of the pipeline with its output on them; the keys of `task.example_keys` and more.
        surroundings: Further facts for the card that are not in the run's results; default: none.
        repo_id: Repository id, or folder, that the card's code snippets load.
        dataset_facts: Facts on a dataset that `DATASET_FACTS` does not contain.
        half: Whether the weights are stored in half precision.
        options: User's choices for the card; default: none, and the card then names no licence and language for unknown
            data.

    Raises:
        ValueError: the architecture is unknown, the example lacks a key, or another run is of another kind.
    """
    if result.architecture not in ARCHITECTURES:
        raise ValueError(f"unknown architecture {result.architecture!r}; known: {', '.join(ARCHITECTURES)}")
    missing = [key for key in task.example_keys if key not in example]
    if missing:
        raise ValueError(f"the card's example lacks {', '.join(missing)}; it needs {', '.join(task.example_keys)}")
    surroundings = surroundings or Surroundings()
    _check_runs_are_repetitions(result, surroundings.other_runs)
    architecture = drop_unused_tokenizer(ARCHITECTURES[result.architecture], vars(config))
    facts = load_architecture_facts(architecture)
    options = options or CardOptions()
    known = dataset_facts or find_dataset_facts(result.dataset, task)
    about = known or _make_unknown_dataset_facts(result.dataset)
    licence = options.licence or (None if known is None else LICENCE)
    template = Template(files("ctxzoo.hub").joinpath("card_template.md").read_text(encoding="utf-8"))
    snippets = task.build_snippets(example, repo_id)
    body = template.substitute(
        title=surroundings.title or f"{facts.title} for {task.title}",
        summary=facts.summary,
        identity=_write_identity_table(result, config, task, half),
        purpose=f"{task.intended}\n\nNot for: {task.not_intended[:1].lower()}{task.not_intended[1:]}",
        example=format_code_block(snippets.example),
        with_package=format_code_block(snippets.with_package),
        without_package=format_code_block(snippets.without_package),
        as_pipeline=_write_pipeline_section(task, snippets),
        results=_write_results_section(result, surroundings, about, task),
        comparable="\n\n".join(part for part in (about.comparable, task.describe_comparability(result)) if part),
        limits=_format_bullets(_list_limitations(result, config, facts, task, surroundings)),
        data=_write_data_section(result, config, about, task, licence),
        settings=format_card_table(
            ["setting", "value"], [[name, _format_value(value)] for name, value in sorted(result.settings.items())]
        ),
        environment=_write_environment_section(result),
        install=describe_installation(),
        code=WITHOUT_CODE,
        reproduce=_write_reproduction_section(result),
        links=_format_bullets(_list_links(result, facts, surroundings)),
        citation=format_code_block(facts.citation, "bibtex"),
    )
    language = list(options.language) or about.language
    return f"---\n{_build_metadata(result, facts, language, licence, task).to_yaml()}\n---\n\n{body}"


def find_dataset_facts(dataset: str, task: TaskCard) -> DatasetFacts | None:
    """Return the facts of a dataset by its name in results; None for a user's own data."""
    return {**DATASET_FACTS, "sample": task.sample}.get(dataset)


def set_licence(card: str, licence: str | None, language: Sequence[str] = ()) -> str:
    """Return a card with this licence of the weights and these languages; None and () leave the present ones."""
    model_card: Any = ModelCard(card, ignore_metadata_errors=True)
    if licence is not None:
        model_card.data.license = licence
    if language:
        model_card.data.language = list(language)
    text = (
        model_card.text
        if licence is None
        else model_card.text.replace(NOT_CHOSEN, f"of these weights: {escape_markdown(licence)}")
    )
    return f"---\n{model_card.data.to_yaml()}\n---\n{text}"


def make_card_example(
    task: TaskCard,
    dataset: str,
    *,
    model: Any,
    tokenizer: Any,
    data: Any = None,
    split: str = "test",
    example: str | None = OF_THE_DATA,
) -> dict[str, Any]:
    """Return inputs of the task's pipeline with its output.

    The inputs come with ctxzoo where `DATASET_FACTS` have some for the dataset or the task has some for any.

    Args:
        task: Problem that the model solves.
        dataset: Name of the dataset as in results files.
        model, tokenizer: Model that computes the example's output, and its tokenizer; None for architectures without a
            tokenizer.
        data: DataModule from which the inputs and the right output are taken where ctxzoo has no example of its own.
        split: Split of that DataModule from which the example is taken.
        example: Example for unknown data: a text of the user; `OF_THE_DATA`, one of the data; None: inputs that come
            with ctxzoo, so that the card quotes nothing of the data.

    Raises:
        ValueError: neither inputs that come with ctxzoo nor inputs of data; a text that the task cannot read.
    """
    dataset_facts = find_dataset_facts(dataset, task)
    own_example = task.own_example if dataset_facts is None or dataset_facts.example is None else dataset_facts.example
    if dataset_facts is None and example:
        own_example = task.parse_example(example)
    elif own_example is None and example is None and (dataset_facts is None or data is None):
        own_example = task.make_builtin_example(model, tokenizer)
    inputs = dict(own_example or {})
    if not inputs and data is not None:
        inputs = task.pick_split_example(data, split) or {}
    if not inputs:
        raise ValueError(f"no example for {dataset!r}; add one to its entry in ctxzoo/hub/datasets.yaml")
    return {**inputs, **task.predict(model, tokenizer, inputs)}


def _build_metadata(
    result: RunResult, facts: ArchitectureFacts, language: str | list[str] | None, licence: str | None, task: TaskCard
) -> ModelCardData:
    """Return the metadata at the head of a model card, which the Hub reads."""
    return ModelCardData(
        language=language,
        license=licence,
        library_name="transformers",
        pipeline_tag=task.pipeline_tag,
        tags=["ctxzoo", "pytorch-lightning", *facts.tags],
        datasets=[result.dataset] if is_hub_id(result.dataset) else None,
        metrics=[metric.hub_type for metric in list(task.metrics.values())[:2]],
        model_name=f"{result.architecture}-{result.dataset.rsplit('/', 1)[-1]}-{result.variant}",
        eval_results=build_model_index(result, task),
    )


def _write_identity_table(result: RunResult, config: ZooConfig, task: TaskCard, half: bool) -> str:
    """Return the table that says what the model is; `half` says that its weights are in half precision."""
    rows = [
        ["architecture", f"`{result.architecture}` (model type `{config.model_type}`)"],
        ["variant", task.format_variant(result)],
        *task.list_identity_rows(config),
        [
            "parameters",
            f"{result.parameters['trainable']:,} trained, {result.parameters['total']:,} in all",
        ],
        ["weights", f"safetensors, no pickles{_describe_half_precision(result) if half else ''}"],
    ]
    return format_card_table(["", ""], rows)


def _describe_half_precision(result: RunResult) -> str:
    """Return whether the scores were measured before or after the weights were rounded."""
    scored = "scored as they are" if result.settings.get("weights") == "float16" else "rounded after they were scored"
    return f"; in half precision, {scored}"


def _write_pipeline_section(task: TaskCard, snippets: Snippets) -> str:
    """Return the section on use as a pipeline, or nothing for a task without one."""
    if snippets.as_pipeline is None:
        return ""
    note = f"As a pipeline, of a packed folder also without ctxzoo. {task.pipeline_note}"
    return f"{note}\n\n{format_code_block(snippets.as_pipeline)}\n\n"


def _write_results_section(
    result: RunResult, surroundings: Surroundings, dataset_facts: DatasetFacts, task: TaskCard
) -> str:
    """Return the table of scores of both splits, with mean ± standard deviation where there are several runs.

    Beside them stand intervals of scores that count right rows, and simple models.
    """
    splits = dict.fromkeys([result.split, "validation", "test"])
    metrics_by_split = {split: values for split in splits if (values := select_split_metrics(result, split, task))}
    headings = [
        "metric",
        *(f"{split}, this checkpoint ({describe_seed_and_fold(result)})" for split in metrics_by_split),
    ]
    runs = [result, *surroundings.other_runs]
    runs_by_heading = {f"mean ± sd of {format_count(len(runs), 'runs')}": runs} if surroundings.other_runs else {}
    for name, baseline_runs in surroundings.baselines.items():
        runs_by_heading[f"{name}{f', mean ± sd of {len(baseline_runs)} runs' if len(baseline_runs) > 1 else ''}"] = (
            list(baseline_runs)
        )
    headings += [f"{result.split}, {name}" for name in runs_by_heading]
    names = [name for name in task.metrics if any(name in values for values in metrics_by_split.values())]
    rows = []
    for name in names:
        metric = task.metrics[name]
        row = [metric.name]
        row += [
            f"{values[name]:.{metric.decimals}f}" if name in values else "–" for values in metrics_by_split.values()
        ]
        for baseline_runs in runs_by_heading.values():
            scores = [
                score for run in baseline_runs if (score := run.metrics.get(f"{result.split}/{name}")) is not None
            ]
            row.append(format_mean_and_deviation(scores, metric.decimals) if scores else "–")
        rows.append(row)
    if not rows:
        return f"This run reported none of the metrics of {task.title}."
    intervals = "".join(f" {sentence}" for sentence in _describe_confidence_intervals(result, dataset_facts, task))
    of_labels = "".join(
        f"\n\n{one.title[:1].upper()}{one.title[1:]}:\n\n{format_card_table(one.rows[0], one.rows[1:])}"
        for one in task.list_label_tables(result)
    )
    notes = f"{task.results_note} {_describe_seeds_and_folds(runs)}.{intervals}"
    return f"{format_card_table(headings, rows)}{of_labels}\n\n{notes}"


def _describe_confidence_intervals(result: RunResult, dataset_facts: DatasetFacts, task: TaskCard) -> Iterable[str]:
    """Yield a sentence for each foremost score that counts right rows, on how far chance among these may move it."""
    is_counted = result.split == "test" and result.fold in (None, 0)
    for name in task.headline:
        if task.metrics[name].hub_type in ("accuracy", "exact_match"):
            found = compute_score_interval(result, name, dataset_facts.test_rows if is_counted else None)
            if found is not None:
                low, high, rows = found
                yield f"Over {rows} the 95 % interval of {task.metrics[name].name} is {low:.1f} to {high:.1f}."


def _describe_seeds_and_folds(runs: Sequence[RunResult]) -> str:
    """Return a text with the seeds of the runs and, in cross-validation, the folds of each."""
    if all(run.fold is None for run in runs):
        return f"Seeds: {', '.join(str(run.seed) for run in runs)}"
    return f"Runs: {'; '.join(map(describe_seed_and_fold, runs))}"


def _list_limitations(
    result: RunResult, config: ZooConfig, facts: ArchitectureFacts, task: TaskCard, surroundings: Surroundings
) -> Iterable[str]:
    """Yield the sentences of the section on limitations."""
    if result.settings.get("tiny"):
        yield f"**A trial run on a few batches. Its {task.predictions} mean nothing.**"
    yield from facts.limits
    yield from task.describe_limits(config, select_split_metrics(result, result.split, task))
    if surroundings.failure is not None:
        yield _write_failure_example(surroundings.failure)
    if not surroundings.other_runs:
        which = "One seed" if result.fold is None else "One seed and one fold"
        yield f"{which}: differences of a point or two to another checkpoint may be chance."


def _write_failure_example(failure: Mapping[str, Any]) -> str:
    """Return a Markdown example of an input that the model gets wrong, with its prediction and the right answer."""
    inputs = " and ".join(f'the {name} "{value}"' for name, value in failure["inputs"].items())
    given = failure["given"][failure["answer"]]
    return escape_markdown(f'An example of its mistakes: for {inputs} it gives "{given}". Right: {failure["right"]}.')


def _list_links(result: RunResult, facts: ArchitectureFacts, surroundings: Surroundings) -> Iterable[str]:
    """Yield lines of text with the papers, the page in the source, related folders, and whom to ask."""
    for url in dict.fromkeys(re.findall(r"url = \{(https?://[^}]+)\}", facts.citation)):
        yield f"paper: {url}"
    url = get_source_url()
    yield f"equations, results and how it was chosen: `docs/models/{result.architecture}.md` in the source of ctxzoo"
    yield from surroundings.see_also
    where = url or "the place from which you have ctxzoo"
    yield f"contact: an issue at {where}, with the name of this folder and what `ctxzoo doctor` prints"


def _write_data_section(
    result: RunResult, config: ZooConfig, dataset_facts: DatasetFacts, task: TaskCard, licence: str | None
) -> str:
    """Return the section on the data: its description, licences, hashes, and word vectors."""
    vectors = result.settings.get("word_vectors")
    weights = "of these weights and the code: Apache-2.0."
    if licence != LICENCE:
        weights_licence = f"of these weights: {escape_markdown(licence)}" if licence else NOT_CHOSEN
        weights = f"{weights_licence}; of the code: Apache-2.0."
    lines = [
        f"- data: {format_code_span(result.dataset)}. {dataset_facts.description}",
        f"- licence of the data: {dataset_facts.licence}; {weights}",
        f"- content hashes: {result.data['fingerprint']}",
    ]
    if result.settings.get("streaming"):
        from ctxzoo.data.stream_pass import MOST_SAMPLED

        lines.append(
            f"- training rows were read from the disk; what needs all rows at once, such as a vocabulary or a linear "
            f"part, follows from at most {MOST_SAMPLED:,} of them, drawn at random"
        )
    encoder = result.settings.get("encoder") if getattr(config, "encoder_config", None) is not None else None
    if encoder is not None:
        encoder_note = "trained further" if result.settings.get("train_encoder") else "frozen"
        lines.append(
            f"- words are read by the encoder {format_code_span(str(encoder))}, {encoder_note}, whose weights are "
            "among these; its own licence applies."
        )
    elif vectors == "learned":
        lines.append("- word vectors: learned from the training split.")
    elif vectors:
        setting = result.settings.get("freeze_embeddings")
        config_value = getattr(config, "freeze_embeddings", not getattr(config, "train_word_embeddings", True))
        frozen = config_value if setting is None else setting
        trained = task.trains_word_vectors or frozen is False
        training_note = "trained further" if trained else "kept as they are"
        lines.append(f"- word vectors: {format_code_span(str(vectors))}, {training_note}; their own licence applies.")
    return "\n".join([*lines, *(f"- {line}" for line in task.describe_data(result))])


def _write_environment_section(result: RunResult) -> str:
    """Return the table of the machine, the time and the library versions of the training."""
    hardware = result.hardware
    gpus = ", ".join(hardware.get("gpus") or []) or "none"
    rows = [
        ["processor", f"{hardware.get('cpu', 'unknown')}, {hardware.get('cores', '?')} cores"],
        ["GPUs", gpus],
        ["training", f"{result.wall_seconds / 60:.1f} minutes, {result.peak_memory_mb:,.0f} MiB at most"],
        ["finished", result.created],
        *([name, version] for name, version in sorted(result.versions.items())),
    ]
    return format_card_table(["", ""], rows)


def _write_reproduction_section(result: RunResult) -> str:
    """Return the section with the command that repeats the training."""
    note = f"{describe_seed_and_fold(result).capitalize()}, commit `{result.commit}`."
    if result.commit.endswith("-dirty"):
        note += " The checkout had changes that are in no commit."
    command = format_code_block(result.command, "bash")
    return f"{command}\n\n{note} Run it in a checkout of ctxzoo with the data in `$CTXZOO_DATA`."


def _check_runs_are_repetitions(result: RunResult, other_runs: Sequence[RunResult]) -> None:
    """Raise ValueError unless the runs differ in seed or fold alone, so that a mean of them has a meaning."""
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


def _make_unknown_dataset_facts(name: str) -> DatasetFacts:
    """Return what a card says of a dataset of which nothing but its name is known."""
    return DatasetFacts(
        description=UNKNOWN,
        licence="that of the dataset; see its source",
        comparable=OTHER_DATA.format(name=format_code_span(name)),
        language=None,
    )


OTHER_DATA = (
    "These scores compare with those of other models that were trained and tested on the same splits of {name}."
)


def _format_value(value: object) -> str:
    """Return the text of a value in a table: lists with commas, a dash for nothing."""
    if value is None or value == []:
        return "–"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _format_bullets(lines: Iterable[str]) -> str:
    """Return the lines as a Markdown list."""
    return "\n".join(f"- {line}" for line in lines)
