"""The Beta-LSTM on sentences: its table, made from results files, beside other models on the same folds."""

from __future__ import annotations

from collections.abc import Callable

from ctxzoo.models.configuration_beta_lstm import BetaLstmConfig
from ctxzoo.results.result import RunResult
from reports.tables_sentences import SentenceTable

sentences = SentenceTable(
    recipe="sentence_beta_lstm",
    option="cells",
    known=tuple(BetaLstmConfig.variants),
    compared=("lstm", "coupled", "g2", "beta", "bibeta5"),
    base="lstm",
    size=("hidden_size", "units"),
)

TABLES: dict[str, Callable[[list[RunResult]], str]] = {"beta-lstm-sentences": sentences}
