"""The trainings of classifiers of texts: what may be set, the papers' settings, the usual ones, what a search tries.

The usual ones are one setting for all data. A convolutional network reads the words, and beside it stands a linear
classifier of words, pairs of words and n-grams of characters (the wide part of a model, Cheng et al. 2016), which is
fitted apart; their log-odds are added. docs/default_settings.md has its scores. Encoders read words alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from ctxzoo.data.text_folds import DEV_SHARE
from ctxzoo.models.registration import ARCHITECTURES
from ctxzoo.runs.experiment import ClassifierOptimizer, DataArgs, Experiment, ModelArgs, TrainerArgs, VectorStart
from ctxzoo.runs.spaces import Between, Space
from ctxzoo.training.arguments import COUNT, FRACTION, POSITIVE, SIZE, Range, number_field

PROBLEM, ARCHITECTURE, VARIANT = "text-classification", "text_baseline", "cnn"
WORD_VECTORS = "small"  # the table that comes with ctxzoo, of English
VECTOR_WORDS = 40_000  # of given vectors, as many as the small table has and a few more
BUCKETS = 2**18  # of n-grams of words, and as many of characters
TINY_ROWS, TINY_BUCKETS = 1_000, 2**12  # of what is linear
TINY: Mapping[str, int] = {
    **{"word_dim": 8, "position_dim": 0, "recurrent_size": 4, "classifier_size": 8, "attention_size": 4},
    **{"num_filters": 4, "rank": 4, "num_heads": 2, "transformer_size": 8, "hidden_size": 8, "inner_size": 8},
}

# The sentence classification sets of the literature: name in papers to Hub id.
SENTENCE_DATASETS = {
    "MR": "cornell-movie-review-data/rotten_tomatoes",
    "CR": "SetFit/CR",
    "SUBJ": "SetFit/subj",
    "MPQA": "ctxzoo-data/mpqa",
}
YELP = "Yelp/yelp_review_full"
# Document classification sets: name to values of an experiment.
# Reuters holds 1,001 of its training documents out for validation, IMDB 1,000; the others have a split of their own.
DOCUMENT_DATASETS: dict[str, dict[str, Any]] = {
    "reuters8": {"dataset": "ctxzoo-data/reuters8", "dev_share": 0.1825},
    "imdb": {"dataset": "stanfordnlp/imdb", "dev_share": 0.04, "pre_tokenizer": "english"},
    # IMDB's training reviews of one film stand side by side: validation in blocks shares fewer films with training.
    "imdb_blocks": {"dataset": "stanfordnlp/imdb", "dev_share": 0.04, "dev_block": 50, "pre_tokenizer": "english"},
    "yelp": {"dataset": YELP, "pre_tokenizer": "english"},
    "yelp_long": {"dataset": YELP, "pre_tokenizer": "english", "min_words": 119},
    "news_aggregator": {"dataset": "ctxzoo-data/news_aggregator", "text_column": "title", "pre_tokenizer": "english"},
    "sample": {"dataset": "sample"},
}
TAGS = {"yelp_long": "long", "imdb_blocks": "blocks"}  # what distinguishes their results from others of the Hub id
DEV_SEED = 0  # validation documents are the same in all runs


@dataclass(frozen=True, kw_only=True)
class TextData(DataArgs):
    """What is trained on.

    Args:
        text_column: Names of text columns, joined in this order; null: the first usual name that is there, such as
            text.
        label_column: Name of the label column; null: the first usual name that is there, such as label. A column of
            lists gives a text several labels.
        label_separator: Sign between several labels of a text in one cell, such as ";" in "a;b"; null: a cell is one
            label.
        label_columns: Names of columns of 0 and 1, one for each label of which a text may have several; null: there is
            one column of labels.
        class_weights: Weights of the labels in training, in the network and the linear part: balanced, or pairs such as
            spam:5; null: all labels weigh 1.
        folds: Number of cross-validation folds, which are drawn by the seed; null: the dataset's own splits.
        dev_share: Fraction of the training rows held out to select the best epoch; 0: none, and the last epoch is kept.
        dev_block: Number of consecutive rows that are held out together, so that related texts stay in one split; 1:
            single rows.
        min_words: Least number of words of a text; shorter texts are left out.
        train_rows: Number of training rows, drawn by the seed, for learning curves: a part of them is held out for
            validation, and the dataset's own validation rows are the test; null: all.
        pre_tokenizer: Rule by which texts are cut into words: whitespace, english (where most letters are of scripts
            without blanks, such as Chinese, that is unspaced: by characters), treebank, words, signs, unspaced or
            characters.
        lower_case: Whether words are lower-cased.
        min_word_count: Least number of occurrences in the training texts for a word to enter the vocabulary.
        ngram_order: Largest number of words in a hashed n-gram; 1: no n-grams.
        ngram_buckets: Number of embedding rows (hash buckets) for n-grams.
        char_ngrams: Smallest and largest number of characters in a hashed character n-gram; null: none.
        char_ngram_buckets: Number of embedding rows (hash buckets) for character n-grams alone; 0: they share those of
            word n-grams.
        max_length: Largest number of known words of a text, beyond which it is truncated; null: no limit.
    """

    text_column: tuple[str, ...] | None = None
    label_column: str | None = None
    label_separator: str | None = None
    label_columns: tuple[str, ...] | None = None
    class_weights: tuple[str, ...] | None = None
    folds: int | None = number_field(None, Range(2))
    dev_share: float = number_field(DEV_SHARE, FRACTION)
    dev_block: int = number_field(1, SIZE)
    min_words: int = number_field(0, COUNT)
    train_rows: int | None = number_field(None, Range(2))
    pre_tokenizer: Literal["whitespace", "english", "treebank", "words", "signs", "unspaced", "characters"] = (
        "whitespace"
    )
    lower_case: bool = True
    min_word_count: int = number_field(3, SIZE)
    ngram_order: int = number_field(1, SIZE)
    ngram_buckets: int = number_field(0, COUNT)
    char_ngrams: tuple[int, int] | None = number_field(None, SIZE)
    char_ngram_buckets: int = number_field(0, COUNT)
    max_length: int | None = number_field(None, SIZE)

    def get_reported_values(self) -> dict[str, Any]:
        """Return the arguments by name as results files report them."""
        columns = self.text_column
        one = columns[0] if columns is not None and len(columns) == 1 else columns
        return {**super().get_reported_values(), "text_column": one}


@dataclass(frozen=True, kw_only=True)
class TextModel(ModelArgs):
    """What is trained; an architecture has some of these.

    Args:
        word_dim: Dimension of the word embeddings.
        position_dim: Dimension of the position embeddings; 0: none.
        embedding_bound: Bound b of the uniform distribution U(-b, b) from which word embeddings are initialized.
        freeze_embeddings: Whether the word embeddings are kept fixed during training.
        hidden_size: Units of each layer, and of each direction if bidirectional.
        num_layers: Number of layers.
        num_heads: Number of attention heads.
        inner_size: Units of the hidden layer in each block's feed-forward network.
        recurrent_size: Units of each direction of the recurrent network below the attention.
        transformer_size: Width of the Transformer layers; 0: that of the word embeddings.
        attention_size: Units of the hidden layer of self-attention (d_a of Lin et al. 2017).
        num_filters: Number of convolution filters of each width.
        kernel_sizes: Widths of the convolution filters, in words.
        rank: Rank of a factorized bilinear or third-order form in attention.
        projection_size: Dimension of the words that the attention reads, the rows of the map W_w; 0: no map; lama only.
        bidirectional: Whether the recurrent network reads texts in both directions.
        position: Kind of position encoding in an encoder: none, sinusoidal or rotary.
        feature_map: Feature map of queries and keys in linear attention, such as favor, learned or elu; linear_encoder
            only.
        num_features: Number of random features, or of frequencies, of the attention kernel.
        kl_lambda: Weight in the loss of a KL divergence from a prior, for architectures that have one.
        num_steps: Number of steps in which the context vector is updated; contextualizer and attention baseline.
        recurrent: Whether all steps share their weights; contextualizer only.
        initial_context: Context vector before the first step: ones, learned or random; contextualizer only.
        eval_context: First context at evaluation if it is random: fixed, or redraw for each text; contextualizer only.
        eval_context_samples: Number of random first contexts at evaluation whose probabilities are averaged;
            contextualizer only.
        concatenate_steps: Whether the classifier reads the contexts of all steps, not of the last alone; contextualizer
            only.
        logit_scale: Factor that multiplies the attention logits; lama only.
        l2_normalize: Whether each word's attention logits are scaled to length 1 over the heads; lama only.
        append_pooled: Whether the classifier also reads mean and maximum of the hidden states; lama only.
        linear_mean: Whether a linear classifier of the mean of word and n-gram embeddings is added; lama only.
        classifier_size: Units of the classifier's hidden layer; 0: a linear classifier.
        classifier_dropout: Dropout rate in the classifier's hidden layer.
        dropout: Dropout rate on the word embeddings.
        word_dropout: Fraction of the words that are randomly left out in training.
        embedding_dropout: Dropout rate on the word embeddings; lama only.
        hidden_dropout: Dropout rate on the hidden states, or on what each block adds to the residual stream.
        attention_dropout: Dropout rate on the attention weights.
        pooled_dropout: Dropout rate on the pooled vector of a text.
        locked_dropout: Dropout rate behind each layer, with one mask for all words of a text.
        weight_dropout: Dropout rate on the recurrent weights of an LSTM.
        wide_dropout: Dropout rate on the inputs of the linear (wide) part.
        deep_scale: Factor of the network's logits when they are added to those of the linear (wide) part.
    """

    word_dim: int | None = number_field(None, SIZE)
    position_dim: int | None = number_field(None, COUNT)
    embedding_bound: float | None = number_field(None, POSITIVE)
    freeze_embeddings: bool | None = None
    hidden_size: int | None = number_field(None, SIZE)
    num_layers: int | None = number_field(None, SIZE)
    num_heads: int | None = number_field(None, SIZE)
    inner_size: int | None = number_field(None, SIZE)
    recurrent_size: int | None = number_field(None, SIZE)
    transformer_size: int | None = number_field(None, COUNT)
    attention_size: int | None = number_field(None, SIZE)
    num_filters: int | None = number_field(None, SIZE)
    kernel_sizes: tuple[int, ...] | None = number_field(None, SIZE)
    rank: int | None = number_field(None, SIZE)
    projection_size: int | None = number_field(None, COUNT)
    bidirectional: bool | None = None
    position: Literal["none", "sinusoidal", "rotary"] | None = None
    feature_map: Literal["favor", "hyperbolic", "elu", "relu", "learned", "trig"] | None = None
    num_features: int | None = number_field(None, SIZE)
    kl_lambda: float | None = number_field(None, COUNT)
    num_steps: int | None = number_field(None, SIZE)
    recurrent: bool | None = None
    initial_context: Literal["ones", "learned", "random"] | None = None
    eval_context: Literal["redraw", "fixed"] | None = None
    eval_context_samples: int | None = number_field(None, SIZE)
    concatenate_steps: bool | None = None
    logit_scale: float | None = number_field(None, Range(float("-inf")))
    l2_normalize: bool | None = None
    append_pooled: bool | None = None
    linear_mean: bool | None = None
    classifier_size: int | None = number_field(None, COUNT)
    classifier_dropout: float | None = number_field(None, FRACTION)
    dropout: float | None = number_field(None, FRACTION)
    word_dropout: float | None = number_field(None, FRACTION)
    embedding_dropout: float | None = number_field(None, FRACTION)
    hidden_dropout: float | None = number_field(None, FRACTION)
    attention_dropout: float | None = number_field(None, FRACTION)
    pooled_dropout: float | None = number_field(None, FRACTION)
    locked_dropout: float | None = number_field(None, FRACTION)
    weight_dropout: float | None = number_field(None, FRACTION)
    wide_dropout: float | None = number_field(None, Range(0, 1))
    deep_scale: float | None = number_field(None, COUNT)

    def get_config_changes(self) -> dict[str, Any]:
        """Return the fields of the variant's configuration that the user changed, by name."""
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in super().get_config_changes().items()
        }


@dataclass(frozen=True, kw_only=True)
class TextStart(VectorStart):
    """What a training begins with.

    Args:
        word_vectors: Word vectors that initialize the word embeddings: a file, checkpoint folder or Hub id; null: none.
        vectors_fingerprint: Hash of the content of the word vectors, filled in by the run.
        vectors_std: Standard deviation to which the given word vectors are scaled; 0: unscaled.
        vector_words: Number of words of the given vectors, the first ones, that the model knows beside those of the
            training texts; 0: those of the training texts alone, whose vectors start from the given ones.
        word2vec_dim: Dimension of word2vec vectors trained on the training texts to initialize the word embeddings; 0:
            none.
        word2vec_epochs: Number of word2vec's passes over the training texts.
        naive_bayes: Mean distance between class scores of the naive Bayes classifier from which the model starts; 0:
            random initialization.
        zeroed: Names of model parameters that are set to 0 and not trained.
        wide: Whether a linear (wide) classifier is fitted, whose logits are added to those of the network.
        wide_rows: Largest number of randomly drawn rows that the linear classifier is fitted to; null: all.
        wide_cost: Inverse regularization strength C of its linear SVMs; null: the best of a few values on held-out
            training rows.
    """

    vectors_std: float = number_field(0.0, COUNT)
    vector_words: int = number_field(0, COUNT)
    word2vec_dim: int = number_field(0, COUNT)
    word2vec_epochs: int = number_field(5, SIZE)
    naive_bayes: float = number_field(0.0, COUNT)
    zeroed: tuple[str, ...] = ()
    wide: bool = False
    wide_rows: int | None = number_field(None, SIZE)
    wide_cost: float | None = number_field(None, POSITIVE)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.vectors_std and self.word_vectors is None:
            raise ValueError(f"vectors_std={self.vectors_std} scales given vectors, and there are none; give both")


def get_variant_fields(architecture: str, variant: str) -> dict[str, Any]:
    """Return the fields of a `TextModel` that a variant sets, by name.

    Raises:
        ValueError: the architecture has no such variant.
    """
    model_fields = {one.name for one in fields(TextModel)}
    variants: Mapping[str, Mapping[str, Any]] = ARCHITECTURES[architecture].config_class.variants
    if variant not in variants:
        raise ValueError(f"unknown variant {variant!r} of {architecture}; known: {', '.join(variants) or 'none'}")
    return {name: value for name, value in variants[variant].items() if name in model_fields}


def build_sentence_experiment(architecture: str, variant: str, **model_fields: Any) -> Experiment:
    """Return the settings of Maupomé and Meurs (2021), or those of docs/models/contextualizer.md where it is silent.

    Args:
        architecture, variant: Names of the architecture and of its variant.
        model_fields: Settings of the model, by field of `TextModel`, that override those of the variant.
    """
    return Experiment(
        problem=PROBLEM,
        recipe="",
        data=TextData(batch_size=64, folds=5),
        model=TextModel(
            architecture=architecture, variant=variant, **{**get_variant_fields(architecture, variant), **model_fields}
        ),
        optimizer=ClassifierOptimizer(optimizer="adam", learning_rate=1e-3),
        trainer=TrainerArgs(epochs=10),
        start=TextStart(),
    )


def build_document_experiment(architecture: str, variant: str, **model_fields: Any) -> Experiment:
    """Return the settings of Mehta et al. (2019), or those of docs/models/lama.md where it is silent.

    Args:
        architecture, variant: Names of the architecture and of its variant.
        model_fields: Settings of the model, by field of `TextModel`, that override those of the variant.
    """
    return Experiment(
        problem=PROBLEM,
        recipe="",
        data=TextData(batch_size=32, min_word_count=5, max_length=512),
        model=TextModel(
            architecture=architecture,
            variant=variant,
            **{"word_dim": 100, **get_variant_fields(architecture, variant), **model_fields},
        ),
        optimizer=ClassifierOptimizer(optimizer="sgd", learning_rate=0.05, weight_decay=1e-4, halve_after=2),
        trainer=TrainerArgs(epochs=50, patience=5, gradient_clip=5.0),
        start=TextStart(word2vec_dim=100),
    )


def set_document_dataset(experiment: Experiment, name: str) -> Experiment:
    """Return the experiment on one of `DOCUMENT_DATASETS`, or on another Hub id, folder or file.

    The names of its files tell the sets of one Hub id apart.
    """
    chosen = get_document_dataset(name)
    columns = {"text_column": (chosen.pop("text_column"),)} if "text_column" in chosen else {}
    return experiment.copy_with(**chosen, **columns, tag=build_result_tag(name, experiment.tag))


def get_document_dataset(name: str) -> dict[str, Any]:
    """Return the values of one of `DOCUMENT_DATASETS`; another Hub id, folder or file is read with English rules."""
    return dict(DOCUMENT_DATASETS.get(name, {"dataset": name, "pre_tokenizer": "english"}))


def build_result_tag(dataset: str, run_name: str = "") -> str:
    """Build the tag in names of results files, from a dataset and the name of a run; may be empty.

    Several datasets have one Hub id, and several runs of a dataset differ in settings only.
    """
    return "-".join(part for part in (TAGS.get(dataset, ""), run_name) if part)


def set_word2vec_size(experiment: Experiment, *, word2vec: bool = True) -> Experiment:
    """Return the experiment with vectors of word2vec as wide as the model's, or without any.

    Args:
        experiment: Experiment of the text classifier, with the settings to change.
        word2vec: Whether word embeddings start from word2vec trained on the texts, if no vectors are given.
    """
    start: Any = experiment.start
    model: Any = experiment.model
    if start.word_vectors is not None:  # which are trained further, of encoders always
        can_freeze = "freeze_embeddings" in ARCHITECTURES[model.architecture].config_class.__dataclass_fields__
        return experiment.copy_with(word2vec_dim=0, freeze_embeddings=False if can_freeze else None)
    return experiment.copy_with(word2vec_dim=model.word_dim if word2vec else 0)


def replace_with_text_baseline(
    experiment: Experiment, variant: str, row: str, values: Mapping[str, Any], **overrides: Any
) -> Experiment:
    """Return the experiment with a variant of the text baseline.

    Args:
        experiment: Experiment whose data and training settings the baseline shares.
        variant, row: Name of the text baseline's variant, and the name under which results files report it.
        values: Settings of the model, by field of `TextModel`, which the variant's own override.
        overrides: Settings of the model that override those of the variant.
    """
    values = {**values, **get_variant_fields(ARCHITECTURE, variant), **overrides}
    return replace(experiment, model=TextModel(architecture=ARCHITECTURE, variant=variant, row=row, **values))


def build_paper_experiment(architecture: str, variant: str) -> Experiment:
    """Return the settings of the recipe for documents for LAMA, and of that for sentences for the others.

    Raises:
        ValueError: No recipe trains the architecture on texts with the settings of its paper.
    """
    if architecture == "lama":
        return build_document_experiment(architecture, variant).copy_with(pre_tokenizer="english")
    sentence_models = ("contextualizer", "text_baseline")
    if architecture not in sentence_models:
        raise ValueError(
            f"there are no settings of a paper for {architecture} on texts, only for "
            f"{', '.join((*sentence_models, 'lama'))}; try --settings default"
        )
    return build_sentence_experiment(architecture, variant, eval_context="redraw").copy_with(folds=None)


_WORDS = {"word_dim": 100, "position_dim": 0, "embedding_bound": 0.1, "wide_dropout": 1.0, "deep_scale": 0.25}
_ENCODER: Mapping[str, Any] = {
    **{"word_dim": 100, "hidden_size": 100, "num_heads": 5, "num_layers": 1, "inner_size": 200, "dropout": 0.3},
    "hidden_dropout": 0.1,
}
# Values of each architecture's model; those of its variants win.
MODELS: Mapping[str, Mapping[str, Any]] = {
    "beta_lstm": {**_WORDS, "num_layers": 1, "bidirectional": True, "dropout": 0.3},
    "kernel_encoder": {**_ENCODER, "attention_dropout": 0.1},
    "linear_encoder": _ENCODER,
    "higher_order_encoder": {**_ENCODER, "attention_dropout": 0.1},
    "text_baseline": {**_WORDS, "kernel_sizes": (2, 3, 4), "dropout": 0.5, "pooled_dropout": 0.5},
    "contextualizer": {**_WORDS, "freeze_embeddings": False, "dropout": 0.3},
    "lama": {**_WORDS, "embedding_dropout": 0.3, "hidden_dropout": 0.3},
}
# And of a variant: what its positions are added to is as wide as the words, and a multiple of the heads.
OF_VARIANT: Mapping[str, Mapping[str, Any]] = {"transformer": {"transformer_size": 100, "num_heads": 5}}


def build_default_experiment(architecture: str, variant: str) -> Experiment:
    """Return the settings of `ctxzoo train`.

    Raises:
        ValueError: Nobody has written settings for the architecture.
    """
    if architecture not in MODELS:
        raise ValueError(f"there are no default settings for {architecture} on texts, only for {', '.join(MODELS)}")
    model = {**MODELS[architecture], **OF_VARIANT.get(variant, {}), **get_variant_fields(architecture, variant)}
    words: dict[str, Any] = {"pre_tokenizer": "english", "min_word_count": 2, "max_length": 1024, "batch_size": 64}
    wide = "wide_dropout" in model  # a network without such a part reads words alone
    if wide:
        words |= {"ngram_order": 2, "ngram_buckets": BUCKETS, "char_ngrams": (2, 5), "char_ngram_buckets": BUCKETS}
    return Experiment(
        problem=PROBLEM,
        recipe="",
        data=TextData(**words),
        model=TextModel(architecture=architecture, variant=variant, **model),
        optimizer=ClassifierOptimizer(
            optimizer="adamw", learning_rate=1e-3, weight_decay=0.01, label_smoothing=0.1, decay=True, warmup=0.1
        ),
        trainer=TrainerArgs(epochs=10, ema_decay=0.999, gradient_clip=5.0),
        start=TextStart(wide=True, word_vectors=WORD_VECTORS, vector_words=VECTOR_WORDS) if wide else TextStart(),
    )


SEARCH_SPACE: Space = {
    "batch_size": (16, 32, 64),
    "epochs": (5, 10, 20),
    "weight_decay": Between(0.0, 0.1),
    "label_smoothing": Between(0.0, 0.1),
    "dropout": Between(0.1, 0.5),
    "embedding_dropout": Between(0.1, 0.5),
    "hidden_dropout": Between(0.1, 0.5),
    "pooled_dropout": Between(0.3, 0.7),
    "word_dim": (50, 100, 200),
    "min_word_count": (1, 2, 3),
    **{"ngram_order": (2, 3), "char_ngrams": ((2, 4), (2, 5), (3, 6)), "wide_cost": (None, 0.1, 0.4, 1.6)},
    "deep_scale": Between(0.125, 1.0, log=True),
}
# What the linear part reads and how it is fitted, which is searched for where there is such a part.
OF_THE_LINEAR_PART = ("ngram_order", "char_ngrams", "wide_cost", "deep_scale")
