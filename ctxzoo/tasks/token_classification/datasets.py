"""Tagged corpora: name to arguments of `TokenClassificationDataModule`, with the treebank's own tags."""

from __future__ import annotations

TOKEN_DATASETS = {
    "ptb_sample": {"dataset": "ctxzoo-data/ptb_sample", "tag_column": "pos_tags"},
    "ud_english_ewt": {"dataset": "ctxzoo-data/ud_english_ewt", "tag_column": "xpos"},
    "brown_pos": {"dataset": "ctxzoo-data/brown_pos", "tag_column": "pos_tags"},
    "conll2000_pos": {"dataset": "ctxzoo-data/conll2000_pos", "tag_column": "pos_tags"},
    "sample": {"dataset": "sample", "tag_column": "pos_tags"},
}


def token_dataset(name: str, tag_column: str | None = None) -> dict[str, str]:
    """Return the arguments for one of `TOKEN_DATASETS`, or for any other Hub id or folder.

    Args:
        name: of the corpus.
        tag_column: other tags than those of `TOKEN_DATASETS`, such as "upos".

    Raises:
        ValueError: a corpus that is not one of `TOKEN_DATASETS`, without tags.
    """
    known = TOKEN_DATASETS.get(name)
    if known is None and tag_column is None:
        raise ValueError(f"{name!r} is none of {', '.join(TOKEN_DATASETS)}; name its column of tags too")
    return {**(known or {"dataset": name}), **({} if tag_column is None else {"tag_column": tag_column})}
