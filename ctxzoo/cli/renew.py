"""Published checkpoint folders of this repository: written, and written again when the code they carry changes.

python -m ctxzoo.cli.renew                          every folder of model_cards/published.json, with the present code
python -m ctxzoo.cli.renew NAME CHECKPOINT RESULT   model_cards/NAME, from the checkpoint and results file of a run;
                                                    with --half its weights are written in half precision

Weights and vocabulary stay as they are; code, configuration and card are made anew. A tokenizer without a limit gets
that of the training, where its results file has one (`max_length`).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from transformers import AutoTokenizer

from ctxzoo.data.files import write_atomically
from ctxzoo.hub.card import build_card, card_example
from ctxzoo.hub.checkpoint_folder import is_in_half, write_checkpoint_folder
from ctxzoo.hub.eval_results import eval_results_files
from ctxzoo.hub.folder_checks import head_class, read_architecture
from ctxzoo.hub.published import FOLDER, INDEX, published
from ctxzoo.models.tokenization_word import WordTokenizer
from ctxzoo.results.result import read_result
from ctxzoo.tasks import card_of


def renew(folder: Path, checkpoint: Path, result_file: Path, *, half: bool = False) -> None:
    """Write `folder` from the weights of `checkpoint` (which may be the same) and the results of their training.

    The weights are in half precision where those of `checkpoint` are, or where `half` asks for it.

    Raises:
        ValueError: the results are those of another architecture; see also `write_checkpoint_folder`.
    """
    result = read_result(result_file)
    architecture, config = read_architecture(checkpoint)
    if architecture.name != result.architecture:
        raise ValueError(f"{checkpoint} is a {architecture.name}, but {result_file} is of a {result.architecture}")
    model_class = head_class(architecture, config, checkpoint)
    task = card_of(model_class)
    model = model_class.from_pretrained(checkpoint)
    tokenizer = None if architecture.tokenizer_class is None else AutoTokenizer.from_pretrained(checkpoint)
    trained_on = result.settings.get("max_length")
    if trained_on is not None and isinstance(tokenizer, WordTokenizer) and tokenizer.word_limit is None:
        tokenizer.model_max_length = trained_on
    example = card_example(task, result.dataset, model=model, tokenizer=tokenizer)
    half = half or is_in_half(checkpoint)
    card = build_card(result, model.config, task=task, example=example, half=half)
    scores = eval_results_files(result, task)
    write_checkpoint_folder(folder, model=model, tokenizer=tokenizer, card=card, eval_results=scores, half=half)


def main(arguments: Sequence[str] | None = None) -> int:
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
            for folder, result in published().items():
                renew(folder, folder, result)
        elif options.result is None:
            parser.error("give all of NAME, CHECKPOINT and RESULT, or none")
        else:
            renew(FOLDER / options.name, options.checkpoint, options.result, half=options.half)
            _enter(options.name, options.result)
    except (OSError, ValueError) as error:
        parser.error(str(error))
    return 0


def _enter(name: str, result: Path) -> None:
    index: dict[str, Any] = {}
    if (FOLDER / INDEX).exists():
        index = json.loads((FOLDER / INDEX).read_text(encoding="utf-8"))
    index[name] = result.as_posix()
    write_atomically(FOLDER / INDEX, (json.dumps(index, indent=1, sort_keys=True) + "\n").encode())


if __name__ == "__main__":
    sys.exit(main())
