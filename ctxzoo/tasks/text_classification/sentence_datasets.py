"""The sentence classification sets of the literature: name in papers to Hub id."""

SENTENCE_DATASETS = {
    "MR": "cornell-movie-review-data/rotten_tomatoes",
    "CR": "SetFit/CR",
    "SUBJ": "SetFit/subj",
    "MPQA": "ctxzoo-data/mpqa",
}
