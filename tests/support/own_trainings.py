"""What `ctxzoo train` does, one for each problem."""

from __future__ import annotations

import pytest

import ctxzoo  # noqa: F401  registers the architectures
from ctxzoo.runs.own_training import OwnTraining
from ctxzoo.tasks.language_modelling.training import LanguageModelTraining
from ctxzoo.tasks.next_event.training import NextEventTraining
from ctxzoo.tasks.polyphonic_music.training import MusicTraining
from ctxzoo.tasks.question_answering.training import ReaderTraining
from ctxzoo.tasks.regression.training import RegressionTraining
from ctxzoo.tasks.session_recommendation.training import SessionTraining
from ctxzoo.tasks.text_classification.training import ClassifierTraining
from ctxzoo.tasks.token_classification.training import TaggerTraining
from ctxzoo.tasks.vote_prediction.training import VoteTraining
from ctxzoo.tasks.word_embeddings.training import WordVectorTraining

TRAININGS: list[OwnTraining] = [
    LanguageModelTraining(),
    NextEventTraining(),
    MusicTraining(),
    ReaderTraining(),
    RegressionTraining(),
    SessionTraining(),
    ClassifierTraining(),
    TaggerTraining(),
    VoteTraining(),
    WordVectorTraining(),
]
each_training = pytest.mark.parametrize("training", TRAININGS, ids=[one.card.name for one in TRAININGS])
