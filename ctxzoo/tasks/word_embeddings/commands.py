"""`ctxzoo predict` for models of masked words."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from typing import Any

from ctxzoo.tasks.commands import TEXT, TaskCommands, check_output, check_text_or_file, write_json


class FillMaskCommands(TaskCommands):
    title = "masked words"
    predict_options = (TEXT,)

    def predict(self, options: argparse.Namespace, own: Mapping[str, Any]) -> None:
        check_text_or_file(options, own["text"])
        check_output(options)

        from ctxzoo.data.text_lines import read_text_lines
        from ctxzoo.tasks.word_embeddings.predictions import fill_masks, load_mask_filler

        texts = [own["text"]] if options.file is None else read_text_lines(options.file)
        found = fill_masks(load_mask_filler(options.checkpoint), texts, batch_size=options.batch_size)
        if options.output is None:
            for word in found[0]:
                print(json.dumps(word, ensure_ascii=False))
            return
        write_json(options.output, found)
        print(f"words for {len(texts)} texts: {options.output}")


COMMANDS = FillMaskCommands()
