"""Published checkpoint folders of this repository: made from runs, without code, and their cards written again.

python -m ctxzoo.cli.renew                          the card of every folder of model_cards/published.json
python -m ctxzoo.cli.renew NAME CHECKPOINT RESULT   model_cards/NAME, from the checkpoint and results file of a run;
                                                    with --half its weights are written in half precision
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ctxzoo.data.files import write_atomically
from ctxzoo.hub.card import build_card, make_card_example
from ctxzoo.hub.checkpoint_folder import has_half_precision_weights, write_checkpoint_folder
from ctxzoo.hub.eval_results import build_eval_results_files
from ctxzoo.hub.folder_checks import read_architecture
from ctxzoo.hub.folder_files import CARD
from ctxzoo.hub.published import FOLDER, INDEX, Entry, read_published_entries
from ctxzoo.hub.saved_model import load_saved_model
from ctxzoo.models.tokenization_word import WordTokenizer
from ctxzoo.results.result import RunResult, read_result
from ctxzoo.tasks import get_card_of_head


def write_published_folder(folder: Path, checkpoint: Path, entry: Entry, *, half: bool = False) -> None:
    """Write a checkpoint folder without code, from the checkpoint of a run and the results of that run.

    The weights are in half precision where those of `checkpoint` are, or where `half` asks for it. A tokenizer without
    a limit gets that of the training, where the results file has one (`max_length`).

    Args:
        folder: Folder to write; its earlier content is replaced.
        checkpoint: Folder of the trained checkpoint, with or without packed code; it may be the same as `folder`.
        entry: Entry of the folder in the index of published checkpoints.
        half: Whether to write the weights in half precision.

    Raises:
        ValueError: the results are those of another architecture; see also `write_checkpoint_folder`.
    """
    result = _read_result_of_checkpoint(checkpoint, entry.result)
    model, tokenizer = load_saved_model(str(checkpoint))
    trained_on = result.settings.get("max_length")
    if trained_on is not None and isinstance(tokenizer, WordTokenizer) and tokenizer.word_limit is None:
        tokenizer.model_max_length = trained_on
    half = half or has_half_precision_weights(checkpoint)
    write_checkpoint_folder(
        folder,
        model=model,
        tokenizer=tokenizer,
        card=build_published_card(entry, result, model, tokenizer, half=half),
        eval_results=build_eval_results_files(result, get_card_of_head(type(model))),
        half=half,
        code=False,
    )


def rewrite_card(folder: Path, entry: Entry) -> None:
    """Write the card of a published folder, and its files of scores, again; its other files stay as they are.

    Args:
        folder: Published folder, written by `write_published_folder`.
        entry: Entry of the folder in the index of published checkpoints.

    Raises:
        ValueError: the results are those of another architecture.
    """
    result = _read_result_of_checkpoint(folder, entry.result)
    model, tokenizer = load_saved_model(str(folder))
    files = {CARD: build_published_card(entry, result, model, tokenizer, half=has_half_precision_weights(folder))}
    for name, text in {**files, **build_eval_results_files(result, get_card_of_head(type(model)))}.items():
        write_atomically(folder / name, text.encode())


def main(arguments: Sequence[str] | None = None) -> int:
    """Write one published checkpoint folder, or the cards of all of them; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m ctxzoo.cli.renew", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("name", nargs="?", help="folder to add or replace")
    parser.add_argument("checkpoint", nargs="?", type=Path, help="its checkpoint folder")
    parser.add_argument("result", nargs="?", type=Path, help="its results file")
    parser.add_argument("--half", action="store_true", help="write its weights in half precision")
    options = parser.parse_args(arguments)
    try:
        if options.name is None:
            if options.half:
                parser.error("--half is of one folder; give NAME, CHECKPOINT and RESULT with it")
            for folder, entry in read_published_entries().items():
                rewrite_card(folder, entry)
        elif options.result is None:
            parser.error("give all of NAME, CHECKPOINT and RESULT, or none")
        else:
            folder = FOLDER / options.name
            entry = replace(_read_index_entry(folder), result=options.result)
            write_published_folder(folder, options.checkpoint, entry, half=options.half)
            _write_index_entry(options.name, options.result)
    except (OSError, ValueError) as error:
        parser.error(str(error))
    return 0


def _read_result_of_checkpoint(checkpoint: Path, result_file: Path) -> RunResult:
    """Return the results of a run, after checking that the checkpoint is of the same architecture."""
    result = read_result(result_file)
    architecture, _ = read_architecture(checkpoint)
    if architecture.name != result.architecture:
        raise ValueError(f"{checkpoint} is a {architecture.name}, but {result_file} is of a {result.architecture}")
    return result


def build_published_card(entry: Entry, result: RunResult, model: Any, tokenizer: Any, *, half: bool) -> str:
    """Return the text of a published folder's card.

    Args:
        entry: Entry of the folder in the index of published checkpoints.
        result: Results of the run that trained the checkpoint.
        model, tokenizer: Model and tokenizer of the checkpoint.
        half: Whether the weights are stored in half precision.
    """
    task = get_card_of_head(type(model))
    example = make_card_example(task, result.dataset, model=model, tokenizer=tokenizer)
    around = entry.collect_surroundings(model, tokenizer, task)
    return build_card(result, model.config, task=task, example=example, surroundings=around, half=half)


def _read_index_entry(folder: Path) -> Entry:
    """Return the entry of a folder in the index of published folders; a new folder has none."""
    known = read_published_entries() if (FOLDER / INDEX).exists() else {}
    return known.get(folder, Entry(result=Path()))


def _write_index_entry(name: str, result: Path) -> None:
    """Write into the index of published folders which results file belongs to the folder `name`."""
    index = json.loads((FOLDER / INDEX).read_text(encoding="utf-8")) if (FOLDER / INDEX).exists() else {}
    index[name] = {**index.get(name, {}), "result": result.as_posix()}
    text = json.dumps(index, indent=1, sort_keys=True, ensure_ascii=False)
    write_atomically(FOLDER / INDEX, f"{text}\n".encode())


if __name__ == "__main__":
    sys.exit(main())
