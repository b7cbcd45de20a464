"""The README's table: one score of each model on real data, beside the best simple baseline and the best other network.

All scores of a row are of the same test rows. A cell is the mean and sample standard deviation over folds, splits or
seeds, and the best mean of a row is bold. What stands beside a model is chosen by `chosen_by`. The pages of the results
have all rows, and what differences mean.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ctxzoo.results.result import RunResult
from ctxzoo.results.table_parts import NOT_RUN, markdown_table, mean_and_deviation, refuse_repeats
from ctxzoo.tasks.text_classification.experiments import SENTENCE_DATASETS
from reports.choice import chosen_by
from reports.results_table import Row, Runs, select
from reports.tables_contextualizer import LINEAR_ROWS, NARROW_ROWS, NEURAL_ROWS, PLAIN_MEAN, STRONGEST

HEADINGS = ("model", "what for", "score", "best simple baseline", "best other network", "paper")
REVIEWS, IMDB = SENTENCE_DATASETS["MR"], "stanfordnlp/imdb"


@dataclass(frozen=True)
class Model:
    """What distinguishes the runs of a model on the data of a row from all others.

    Attributes:
        label: Name of the model as the table shows it.
        recipe: Name of the recipe that trained its runs.
        variant: Name of the variant of its runs.
        tag: Tag of its runs in results files; empty: none.
    """

    label: str
    recipe: str
    variant: str
    tag: str = ""


@dataclass(frozen=True)
class System:
    """A row: a model, what it is for, its score, and what stands beside it.

    Attributes:
        page: Path of the documentation page with its score, relative to the README.
        purpose: Phrase that names the problem, the data and the score.
        paper: Authors and year of the paper.
        dataset: Name of the dataset.
        key: Name of the score in results files, such as "test/accuracy".
        ours: Model that the row is about.
        simple: Simple baselines: counts, linear and log-linear models, and others without a hidden layer.
        networks: Other neural networks to compare with.
        lower: Whether a lower score is better.
        decimals: Number of decimal places of the scores.
    """

    page: str
    purpose: str
    paper: str
    dataset: str
    key: str
    ours: Model
    simple: Sequence[Model]
    networks: Sequence[Model]
    lower: bool = False
    decimals: int = 2

    def row(self, results: Sequence[RunResult]) -> list[str]:
        """Return the cells of the row; raises ValueError where a seed and fold of a model is there twice."""
        found = [self._best(results, models) for models in ([self.ours], self.simple, self.networks)]
        sign = -1 if self.lower else 1
        best = max((sign * self._mean(runs) for _, runs in found if runs), default=None)
        cells = []
        for label, runs in found:
            score = mean_and_deviation([run.metrics[self.key] for run in runs], self.decimals)
            bold = runs and sign * self._mean(runs) == best
            cells.append((label, f"**{score}**" if bold else score))
        ours = cells[0][1] if found[0][1] else NOT_RUN
        beside = [f"{label} {score}".lstrip() for label, score in cells[1:]]
        return [f"[{self.ours.label}]({self.page})", self.purpose, ours, *beside, self.paper]

    def _best(self, results: Sequence[RunResult], models: Sequence[Model]) -> tuple[str, Runs]:
        """Return label and runs of the model with the best mean of `chosen_by`; none where none was run."""
        sign = -1 if self.lower else 1
        found = [(model.label, runs) for model in models if (runs := self._runs(results, model))]
        key = chosen_by((runs for _, runs in found), self.key)
        return max(found, key=lambda one: sign * statistics.fmean(run.metrics[key] for run in one[1]), default=("", []))

    def _runs(self, results: Sequence[RunResult], model: Model) -> Runs:
        where = {"recipe": model.recipe, "variant": model.variant, "dataset": self.dataset, "tag": model.tag}
        runs = [run for run in select(results, where) if self.key in run.metrics]
        refuse_repeats(runs)
        return runs

    def _mean(self, runs: Runs) -> float:
        return statistics.fmean(run.metrics[self.key] for run in runs)


def overview(results: Sequence[RunResult]) -> str:
    """Return a row for each of `SYSTEMS`."""
    return markdown_table(HEADINGS, [system.row(results) for system in SYSTEMS], left=2)


def _of_row(row: Row, label: str = "") -> Model:
    """Return the model of a row of the Contextualizer's table, called as there up to a comma."""
    assert isinstance(row.source, Mapping)
    return Model(label or str(row.label), row.source["recipe"], row.source["variant"], row.source["tag"])


def _models(recipe: str, tag: str = "", /, **labels: str) -> list[Model]:
    """Return the models of one recipe and tag, of their labels by variant."""
    return [Model(label, recipe, variant, tag) for variant, label in labels.items()]


def _of_vectors(variant: str, label: str) -> Model:
    return Model(label, "embedding_evaluation", f"{variant}-b20", "pos_induction")


# Of classifiers of texts on both sets: the linear part of what `ctxzoo train` makes, by itself.
NAIVE_BAYES = "linear, naive-Bayes weights"
LINEAR_PART = Model(NAIVE_BAYES, "default_text_classifier", "wide")
LINEAR_OF_REVIEWS = [*map(_of_row, LINEAR_ROWS), LINEAR_PART]
LINEAR_OF_IMDB = [
    LINEAR_PART,
    *_models("document_linear", words_svm="TF-IDF, SVM", words_svm_tuned="TF-IDF, SVM"),
    *_models("document_linear", bigram_nblr=NAIVE_BAYES, bigram_nblr_tuned=NAIVE_BAYES),
]
NETWORKS_OF_REVIEWS = [_of_row(row, str(row.label).partition(",")[0]) for row in (*NEURAL_ROWS, *NARROW_ROWS)]
CONTEXTUALIZER = _of_row(STRONGEST, "Contextualizer")
JSB = "jsb_chorales"

SYSTEMS = (
    System(
        page="docs/default_settings.md",
        purpose="your own texts (film reviews, accuracy)",
        paper="Wang and Manning 2012",
        dataset=REVIEWS,
        key="test/accuracy",
        ours=Model("default classifier", "default_text_classifier", "both"),
        simple=LINEAR_OF_REVIEWS,
        networks=[*NETWORKS_OF_REVIEWS, CONTEXTUALIZER],
    ),
    System(
        page="docs/results/contextualizer.md",
        purpose="sentences (film reviews, accuracy)",
        paper="Maupomé and Meurs 2021",
        dataset=REVIEWS,
        key="test/accuracy",
        ours=CONTEXTUALIZER,
        simple=LINEAR_OF_REVIEWS,
        networks=[*NETWORKS_OF_REVIEWS, _of_row(PLAIN_MEAN, "itself without attention")],
    ),
    System(
        page="docs/results/lama.md",
        purpose="documents (IMDB, accuracy)",
        paper="Mehta et al. 2019",
        dataset=IMDB,
        key="test/accuracy",
        ours=Model("LAMA", "document_lama", "lama"),
        simple=LINEAR_OF_IMDB,
        networks=[
            *_models("document_lama", single_head="one head", san="SAN", bigru="BiGRU"),
            *_models("document_lama", cnn="CNN", avg="mean of words"),
        ],
    ),
    System(
        page="docs/results/bidaf.md",
        purpose="questions about a text (part of SQuAD, F1)",
        paper="Patel 2022",
        dataset="ctxzoo-data/squad_v1_mini",
        key="test/f1",
        ours=Model("BiDAF", "squad_bidaf", "char7", "reader"),
        simple=_models("squad_sliding_window", sliding_window="sliding window"),
        networks=_models("squad_bidaf", "start", baseline="plain BiDAF", char7="plain BiDAF with characters"),
    ),
    System(
        page="docs/results/word_embedding.md",
        purpose="word vectors (POS induction, V-measure)",
        paper="Ling et al. 2015",
        dataset="ctxzoo-data/ptb_sample",
        key="all/pos_tags/v_measure_median",
        ours=_of_vectors("attention_cbow", "attention CBOW"),
        simple=[_of_vectors("cbow", "CBOW"), _of_vectors("skip_gram", "skip-gram")],
        networks=[
            _of_vectors("structured_skip_gram", "structured skip-gram"),
            _of_vectors("cwindow", "CWindow"),
            _of_vectors("positional_cbow", "positional CBOW"),
        ],
    ),
    System(
        page="docs/results/beta_lstm.md",
        purpose="music (next chord, nats, lower is better)",
        paper="Song et al. 2020",
        dataset="ctxzoo-data/polyphonic_music",
        key="test/nll",
        ours=Model("Beta-LSTM", "music_beta_lstm", "bibeta5_prior", JSB),
        simple=_models("music_floors", JSB, key_frequency="counts of keys", key_markov="key after key"),
        networks=[
            *_models("music_beta_lstm", JSB, lstm="LSTM", coupled="coupled LSTM"),
            *_models("music_beta_lstm", JSB, g2="Gumbel gates", noisin="LSTM with noise"),
        ],
        lower=True,
        decimals=3,
    ),
    System(
        page="docs/results/hcrnn.md",
        purpose="next item of a session (CiteULike, Recall@20)",
        paper="Song et al. 2019",
        dataset="ctxzoo-data/citeulike_hcrnn",
        key="test/recall_at_20",
        ours=Model("HCRNN", "citeulike_hcrnn", "hcrnn3_bi", "wide"),
        simple=_models(
            "session_floors", pop="popularity", session_pop="popularity", item_knn="item-kNN", markov="Markov chain"
        ),
        networks=_models("session_baselines", "wide", gru4rec="GRU4REC", narm="NARM", stamp="STAMP"),
    ),
    System(
        page="docs/results/nipen.md",
        purpose="votes (US Senate, accuracy)",
        paper="Song et al. 2018",
        dataset="ctxzoo-data/roll_call",
        key="test/accuracy",
        ours=Model("NIPEN", "roll_call_nipen", "pgm_sdae", "votes"),
        simple=[
            *_models("roll_call_floors", "votes", bill_rate="counts", party_rate="counts"),
            *_models("roll_call_floors", "votes", bill_party_rate="counts", tfidf_party="TF-IDF"),
            *_models("roll_call_nipen", "votes", ideal_point="ideal point"),
            *_models("roll_call_nipen", "votes-ten_dimensions", ideal_point="ideal points"),
        ],
        networks=[
            *_models("roll_call_nipen", "votes", ideal_point_network="ideal point with network", autorec="AutoRec"),
            *_models("roll_call_nipen", "votes", cdae="CDAE", trust_svd="TrustSVD", cdl="CDL"),
        ],
    ),
    System(
        page="docs/models/kernel_encoder.md",
        purpose="rows of numbers (concrete, RMSE, lower is better)",
        paper="Song et al. 2021",
        dataset="ctxzoo-data/ika_regression",
        key="test/rmse",
        ours=Model("kernel attention", "regression_ika", "ika", "concrete"),
        simple=[
            *_models("regression_ika", "concrete", mean="mean", ridge="ridge"),
            *_models("regression_ika", "concrete", gp_rbf="Gaussian process", gp_sm="Gaussian process"),
        ],
        networks=_models("regression_ika", "concrete", dot="softmax attention", rbf="RBF attention"),
        lower=True,
    ),
    System(
        page="docs/models/linear_encoder.md",
        purpose="long texts (IMDB, accuracy)",
        paper="Choromanski et al. 2021",
        dataset=IMDB,
        key="test/accuracy",
        ours=Model("attention in linear time", "document_context_encoder", "favor", "blocks"),
        simple=LINEAR_OF_IMDB,
        networks=_models("document_context_encoder", "blocks", dot="softmax attention"),
    ),
    System(
        page="docs/models/kernel_encoder.md#sentences",
        purpose="sentences (film reviews, accuracy)",
        paper="ours",
        dataset=REVIEWS,
        key="test/accuracy",
        ours=Model("higher-order attention", "sentence_context_encoder", "hsa"),
        simple=LINEAR_OF_REVIEWS,
        networks=[*_models("sentence_context_encoder", dot="softmax attention"), *NETWORKS_OF_REVIEWS],
    ),
    System(
        page="docs/models/time_encoder.md",
        purpose="next event (badges, Recall@1)",
        paper="ours",
        dataset="ctxzoo-data/stackoverflow_badges",
        key="test/recall_at_1",
        ours=Model("encodings of time", "badges_lste", "lste"),
        simple=_models("badges_lste", pop="popularity", markov="Markov chain"),
        networks=[
            *_models("badges_lste", none="no times", positional="positions"),
            *_models("badges_lste", bochner="Bochner", mercer="Mercer", time2vec="time2vec"),
        ],
    ),
)
TABLES: dict[str, Callable[[Runs], str]] = {"overview": overview}
