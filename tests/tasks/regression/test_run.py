"""A regression from its training to what a user does with it, and its baselines."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.optimize import approx_fprime
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import WhiteKernel

import ctxzoo
from ctxzoo.cli.main import main
from ctxzoo.hub.folder_checks import check_checkpoint_folder
from ctxzoo.results.result import RunResult
from ctxzoo.runs.run import execute
from ctxzoo.runs.train import ExperimentRun
from ctxzoo.tasks.regression import SpectralMixture, baselines, evaluate, predict_intervals, predict_rows
from ctxzoo.tasks.regression.baselines import ALL_BASELINES, BASELINES, BaselineRun
from ctxzoo.tasks.regression.experiments import build_paper_experiment
from ctxzoo.tasks.regression.problem import REGRESSION
from ctxzoo.tasks.regression.spectral_mixture import build_likelihood_objective
from tests.hub.test_card import python_blocks
from tests.support.baselines import check_baselines, result_of
from tests.support.doors import printed_offline

ROWS = [[5.0, 0.2, 0.5], [31.0, -0.6, 0.1]]


def run(folder: Path, variant: str = "ikan_direct", **changes: object) -> ExperimentRun:
    options: dict[str, Any] = {
        **{"epochs": 40, "hidden_size": 16, "inner_size": 16, "num_heads": 2, "num_features": 8},
        **{"output_dir": str(folder / "runs"), "results_dir": str(folder / "results"), "tensorboard": False},
        **{"progress": False, "accelerator": "cpu", "recipe": "trial", "commit": "0123abc"},
    }
    return ExperimentRun(REGRESSION, build_paper_experiment(variant=variant).copy_with(**{**options, **changes}))


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[ExperimentRun, RunResult]:
    one = run(tmp_path_factory.mktemp("rows"))
    return one, execute(one)


def test_it_learns_and_leaves_its_scores(finished: tuple[ExperimentRun, RunResult]) -> None:
    one, result = finished
    assert result.metrics["validation/rmse"] < 0.8 * result.metrics["validation/epoch1/rmse"]
    for picture in ("learning_curves.png", "predictions.png"):
        assert (one.folder / picture).read_bytes()[:4] == b"\x89PNG"


def test_it_learns_from_parts_of_the_rows(tmp_path: Path) -> None:
    one = run(tmp_path, epochs=15, rows_per_step=40)
    result = execute(one)
    assert (result.metrics["epochs"], result.metrics["steps"]) == (15, 45)
    assert result.settings["rows_per_step"] == 40
    assert run(tmp_path).settings["rows_per_step"] is None
    assert result.metrics["train/epoch15/loss"] < 0.8 * result.metrics["train/epoch1/loss"]
    assert result.metrics["test/r2"] > 0.4
    from ctxzoo.hub.saved_model import load_saved_model

    assert len(load_saved_model(str(one.checkpoint))[0].context.rows) == 120  # all of training, not a part


def test_its_checkpoint_knows_scaling_and_training_rows(finished: tuple[ExperimentRun, RunResult]) -> None:
    one, result = finished
    checkpoint = one.checkpoint
    assert "tokenization_word.py" not in check_checkpoint_folder(checkpoint)
    scores = evaluate(checkpoint, "sample", progress=False, accelerator="cpu")
    assert scores["rmse"] == pytest.approx(result.metrics["test/rmse"], rel=1e-5)
    from ctxzoo.hub.saved_model import load_saved_model

    model, _ = load_saved_model(str(checkpoint))
    data = one.build_data()
    data.setup()
    kept = torch.from_numpy(data.scale_all_features()[data.row_indices("train")]).float()
    assert torch.equal(model.context.rows, kept)
    with torch.no_grad():
        sequence = torch.cat([kept, torch.from_numpy(data.scaling.scale_features(np.array(ROWS))).float()])
        scaled = model(inputs_embeds=sequence.unsqueeze(0)).logits[0, -2:, 0]
    expected = scaled * data.scaling.scales[-1] + data.scaling.offsets[-1]
    assert predict_rows(model, ROWS) == pytest.approx(expected.tolist(), rel=1e-5)
    with pytest.raises(ValueError, match=r"rows of \[2\] numbers: expected 3"):
        predict_rows(model, [[1.0, 2.0]])


@pytest.mark.slow
def test_the_programs_of_its_card_run(
    finished: tuple[ExperimentRun, RunResult], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    checkpoint = finished[0].checkpoint
    card = (checkpoint / "README.md").read_text(encoding="utf-8").replace("path/to/this/folder", str(checkpoint))
    example, with_package, without_package = python_blocks(card)
    names: dict[str, object] = {}
    exec(example, names)
    exec(with_package, names)
    said = with_package.splitlines()[-1].removeprefix("# ")
    assert capsys.readouterr().out.strip() == said
    printed = printed_offline(f"{example}\n{without_package}", without_ctxzoo=True)
    assert printed.splitlines()[-1] == said


def test_commands(
    finished: tuple[ExperimentRun, RunResult], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    checkpoint = str(finished[0].checkpoint)
    assert main(["verify", checkpoint]) == 0
    assert main(["info", checkpoint]) == 0
    assert "features: 3; training rows that it keeps: 120" in capsys.readouterr().out
    assert main(["predict", checkpoint, "--numbers", "5, 0.2, 0.5"]) == 0
    assert float(capsys.readouterr().out) == pytest.approx(predict_rows(checkpoint, ROWS[:1])[0], rel=1e-4)
    rows, out = tmp_path / "rows.csv", tmp_path / "out.json"
    rows.write_text("noise,day,height\n0.5,5,0.2\n0.1,31,-0.6\n")  # told by their names
    assert main(["predict", checkpoint, "--file", str(rows), "--output", str(out)]) == 0
    assert [row["level"] for row in json.loads(out.read_text())] == pytest.approx(predict_rows(checkpoint, ROWS))
    told = tmp_path / "out.csv"
    rows.write_text("id,noise,day,height\n007,0.5,5,0.2\n01,0.1,31,-0.6\n7,none,1,1\n")
    assert main(["predict", checkpoint, "--file", str(rows), "--output", str(told), "--skip_bad"]) == 0
    assert f"2 rows: {told}" in capsys.readouterr().out
    header, *lines = [line.split(",") for line in told.read_text().splitlines()]
    assert header == ["id", "noise", "day", "height", "predicted_level"]
    assert [line[:2] for line in lines] == [["007", "0.5"], ["01", "0.1"]]
    assert [float(line[4]) for line in lines] == pytest.approx(predict_rows(checkpoint, ROWS))
    assert main(["predict", checkpoint, "--file", str(rows)]) == 2
    assert "row 2: no finite number in 'noise' but 'none'; fill it in" in capsys.readouterr().err
    rows.write_text("day\n1\n")
    for options, message in (
        ([], "give either --numbers, or --file"),
        (["--numbers", "1, x"], "expected numbers with"),
        (["--file", str(rows), "--output", str(out)], "no column 'height', 'noise'; there are ['day']"),
    ):
        capsys.readouterr()
        assert main(["predict", checkpoint, *options]) == 2
        assert message in capsys.readouterr().err


def test_intervals_are_kept_and_checked_on_test(
    finished: tuple[ExperimentRun, RunResult], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    checkpoint, metrics = str(finished[0].checkpoint), finished[1].metrics
    config = json.loads((finished[0].checkpoint / "config.json").read_text())
    errors = config["interval_errors"]
    assert len(errors) == 20  # the validation rows of the sample
    assert "validation/coverage_90" not in metrics
    assert metrics["test/half_width_90"] == pytest.approx(errors[18], rel=1e-5)  # ceil(21 x 0.9) = 19
    assert 60 <= metrics["test/coverage_90"] <= 100
    again = evaluate(checkpoint, "sample", progress=False)
    for name in ("coverage_90", "half_width_90"):
        assert again[name] == pytest.approx(metrics[f"test/{name}"], rel=1e-5)  # results are rounded
    assert "errors on 20 validation rows" in (finished[0].checkpoint / "README.md").read_text().replace("\n", " ")
    ((value, low, high),) = predict_intervals(checkpoint, ROWS[:1])
    assert (low, high) == pytest.approx((value - errors[18], value + errors[18]))
    assert main(["predict", checkpoint, "--numbers", "5,0.2,0.5", "--interval", "90"]) == 0
    assert capsys.readouterr().out.strip() == f"{value:.6g} ± {errors[18]:.6g}"
    rows, out = tmp_path / "rows.csv", tmp_path / "out.csv"
    rows.write_text("noise,day,height\n0.5,5,0.2\n")
    assert main(["predict", checkpoint, "--file", str(rows), "--output", str(out), "--interval", "50"]) == 0
    header, line = (text.split(",") for text in out.read_text().splitlines())
    assert header[3:] == ["predicted_level", "predicted_level_low", "predicted_level_high"]
    assert float(line[5]) - float(line[4]) == pytest.approx(2 * errors[10])
    answer = ctxzoo.pipeline(checkpoint, interval=90)(ROWS[0])
    assert answer == pytest.approx({"level": value, "level_low": low, "level_high": high})
    assert main(["predict", checkpoint, "--numbers", "5,0.2,0.5", "--interval", "99"]) == 2
    assert "the errors of 20 held-out rows, which vouch for 95.2 % at most" in capsys.readouterr().err


def test_baselines_know_the_training_rows_alone(tmp_path: Path) -> None:
    scores = {}
    for variant in ("mean", "ridge", "gp_rbf"):
        experiment = build_paper_experiment().copy_with(
            recipe="regression_ika", commit="0123abc", results_dir=str(tmp_path)
        )
        one = BaselineRun(REGRESSION, BaselineRun.build_experiment(experiment, variant))
        scores[variant] = execute(one).metrics["test/rmse"]
    assert scores["gp_rbf"] < scores["ridge"] < scores["mean"]


@pytest.mark.parametrize("variant", ["gp_rbf", "gp_sm"])
def test_processes_of_many_rows_search_on_some_and_know_all(variant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    draws = np.random.default_rng(0)
    x = draws.uniform(-1, 1, size=(60, 1))
    y = np.sin(4 * x[:, 0])
    monkeypatch.setattr(baselines, "SEARCH_STEPS", 10)
    monkeypatch.setattr(baselines, "SEARCHED_ROWS", 60)
    whole = BASELINES[variant](x, y, 0)
    assert len(whole.X_train_) == 60
    monkeypatch.setattr(baselines, "SEARCHED_ROWS", 25)
    some = BASELINES[variant](x, y, 0)
    assert len(some.X_train_) == 60  # it predicts from all
    assert not np.allclose(some.kernel_.theta, whole.kernel_.theta, atol=1e-3)
    others = ~np.isin(np.arange(60), np.random.default_rng(0).permutation(60)[:25])
    changed = y + np.where(others, 3.0, 0.0)
    assert np.array_equal(BASELINES[variant](x, changed, 0).kernel_.theta, some.kernel_.theta)


def test_the_spectral_mixture_is_its_formula_with_its_gradient() -> None:
    draws = np.random.default_rng(0)
    x = draws.normal(size=(4, 2))
    kernel = SpectralMixture(draws.random(3) + 0.1, draws.random(6) + 0.1, draws.random(6) + 0.1)
    found, gradient = kernel(x, eval_gradient=True)
    means, deviations = np.reshape(kernel.means, (3, 2)), np.reshape(kernel.deviations, (3, 2))
    for i in range(4):
        for j in range(4):
            gap = x[i] - x[j]
            expected = sum(
                weight * np.prod(np.exp(-2 * np.pi**2 * gap**2 * deviation**2) * np.cos(2 * np.pi * gap * mean))
                for weight, mean, deviation in zip(kernel.weights, means, deviations, strict=True)
            )
            assert found[i, j] == pytest.approx(expected)
    numeric = approx_fprime(kernel.theta, lambda theta: kernel.clone_with_theta(theta)(x).ravel(), 1e-7)
    assert gradient.reshape(16, -1) == pytest.approx(numeric, abs=1e-4)
    assert np.linalg.eigvalsh(found).min() > -1e-9
    assert kernel.diag(x) == pytest.approx(np.diag(found))


@pytest.mark.parametrize("size", [1, 3])
def test_the_objective_of_a_mixture_is_that_of_scikit_learn(size: int) -> None:
    draws = np.random.default_rng(size)
    x, y = draws.uniform(-1, 1, (30, size)), draws.normal(size=30)
    kernel = SpectralMixture.from_random_frequencies(3, x, 1.0, 0) + WhiteKernel(0.05)
    model = GaussianProcessRegressor(kernel, optimizer=None, normalize_y=True).fit(x, y)
    objective = build_likelihood_objective(x, (y - y.mean()) / y.std())
    for theta in (kernel.theta, kernel.theta + draws.normal(size=len(kernel.theta))):
        value, gradient = model.log_marginal_likelihood(theta, eval_gradient=True)
        found, slopes = objective(theta)
        assert found == pytest.approx(-value, rel=1e-9)
        assert slopes == pytest.approx(-gradient, rel=1e-6, abs=1e-7)
    value, slopes = objective(np.full(len(kernel.theta), 800.0))  # weights that are no floats
    assert value == np.inf
    assert not slopes.any()


def test_frequencies_of_a_mixture_reach_from_slow_to_fast() -> None:
    x = np.linspace(0, 10, 101).reshape(-1, 1) * [1.0, 2.0, 0.0] + [0.0, 0.0, 5.0]  # the last says nothing
    for reach, highest in ((0.0, [0.05, 0.025]), (1.0, [5.0, 2.5]), (0.5, [0.5, 0.25])):
        means = np.reshape(SpectralMixture.from_random_frequencies(400, x, 1.0, 0, reach).means, (400, 3))
        assert means.max(axis=0)[:2] == pytest.approx(highest, rel=0.02)
        assert np.isfinite(means).all()


def test_a_mixture_finds_a_smooth_function_of_several_features() -> None:
    draws = np.random.default_rng(0)
    x = draws.uniform(-1, 1, (80, 4))
    y = np.sin(2 * x[:, 0]) + x[:, 1] * x[:, 2]
    model = BASELINES["gp_sm"](x[:60], y[:60], 0)
    error = np.sqrt(np.mean((model.predict(x[60:]) - y[60:]) ** 2))
    assert error < 0.3 * y[60:].std()


def test_rows_of_ones_own_go_the_whole_way(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = ["price,size,age"] + [f"{3 * n + n % 4},{n},{n * n % 7}" for n in range(40)]
    (tmp_path / "own.csv").write_text("\n".join(lines) + "\n")
    assert main(["train", "regression", "--data", "own.csv", "--target_column", "price", "--tiny"]) == 0
    assert "own.csv: 40 rows: " in capsys.readouterr().out
    (checkpoint,) = Path("runs").rglob("checkpoint")
    assert main(["predict", str(checkpoint), "--numbers", "4,1"]) == 0


def test_features_are_named_and_identifiers_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A column of ids is all different; one of postcodes may have zeros in front; ages and prices are neither."""
    monkeypatch.chdir(tmp_path)
    lines = ["id,post,age,size,price"]
    lines += [f"{7 * n % 41},{'01' if n % 2 else '20'},{n % 7},{n + 0.5},{3 * n}" for n in range(40)]
    (tmp_path / "own.csv").write_text("\n".join(lines) + "\n")
    assert main(["train", "regression", "--data", "own.csv", "--target_column", "price", "--tiny"]) == 0
    before, example = capsys.readouterr().out.split("training kernel_encoder")
    notes = [line for line in before.splitlines() if line.startswith("note: ")]
    assert notes == [
        "note: own.csv: 20 numbers of 'post' with zeros in front, as identifiers have, read without them",
        "note: own.csv: 4 features, 'id', 'post', 'age', 'size'; what is predicted is 'price'",
        "note: own.csv: 40 values of the feature 'id' are whole numbers, each another; where it is an identifier, "
        "leave it out with --feature_columns",
    ]
    assert re.search(r"^id=\d+\.0, post=\d+\.0, age=\d\.0, size=\d+\.5: price -?[\d.]+$", example, re.MULTILINE)
    (file,) = Path("runs/results").rglob("ikan_direct-*.json")
    counts = json.loads(file.read_text())["reading"]
    assert counts["features, 'id', 'post', 'age', 'size'; what is predicted is 'price'"] == 4


def test_times_and_incomes_are_features(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = ["time,income,spent"] + [f"{1.7e9 + 3600 * n},{20_000 * n},{1e6 * n}" for n in range(40)]
    (tmp_path / "own.csv").write_text("\n".join(lines) + "\n")
    assert main(["train", "regression", "--data", "own.csv", "--tiny"]) == 0
    times, incomes = (line for line in capsys.readouterr().out.splitlines() if "each another" in line)
    as_times = "each another, as times in seconds since 1970 from 2023-11-14 to 2023-11-16 are; where it is none, leave"
    assert as_times in times
    assert "each another; where it is an identifier, leave it out" in incomes
    (checkpoint,) = Path("runs").rglob("checkpoint")
    assert main(["evaluate", str(checkpoint), "--dataset", "own.csv", "--split", "train"]) == 0
    capsys.readouterr()
    (tmp_path / "own.csv").write_text("\n".join([*lines, "1e35,0,0"]))
    assert main(["train", "regression", "--data", "own.csv", "--tiny"]) == 2
    line = capsys.readouterr().err.splitlines()[-1]
    assert "row 40: 1e+35 in 'time' is too large; expected numbers up to 1e+30" in line


@pytest.mark.parametrize("settings", ["default", "paper"])
def test_every_setting_makes_a_model(settings: str) -> None:
    from ctxzoo.models.configuration_kernel_encoder import KernelEncoderConfig

    for variant, fields in REGRESSION.get_variants("kernel_encoder").items():
        experiment = REGRESSION.get_settings(settings, "kernel_encoder", variant)
        for one in (experiment, REGRESSION.make_tiny(experiment)):
            config = KernelEncoderConfig(**fields, **one.model.get_config_changes())
            assert (config.hidden_dropout, config.num_heads) == (0.0, 8)


def test_own_rows_of_persons_and_a_feature_named_y(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    draws = np.random.default_rng(0)
    path = tmp_path / "visits.csv"
    hours, ys = draws.uniform(size=(2, 90))
    lines = [
        f"p{row % 15},{y},{hour},{100 + hour}"
        for row, (hour, y) in enumerate(zip(hours.tolist(), ys.tolist(), strict=True))
    ]
    path.write_text("\n".join(["patient,y,hour,price", *lines]))
    command = ["train", "regression", "--data", str(path), "--target_column", "price", "--group_column", "patient"]
    folders = ["--output_dir", str(tmp_path / "runs"), "--results_dir", str(tmp_path / "results")]
    sizes = ["--hidden_size", "16", "--epochs", "3"]
    assert main([*command, *folders, *sizes]) == 0
    assert "rows of one patient or of equal features on one side" in capsys.readouterr().out
    (result_file,) = (tmp_path / "results").rglob("ikan_direct-*.json")
    assert 0 < json.loads(result_file.read_text())["metrics"]["test/rmse"] < 2  # prices are 100 to 101, y is 0 to 1
    (checkpoint,) = (tmp_path / "runs").rglob("checkpoint")
    from ctxzoo.hub.saved_model import load_saved_model

    config = load_saved_model(str(checkpoint))[0].config
    assert (config.feature_names, config.target_name) == (["y", "hour"], "price")
    assert 0 < evaluate(checkpoint, str(path), "train", progress=False, accelerator="cpu")["rmse"] < 2
    scores = evaluate(checkpoint, str(path), group_column="patient", split_number=1, progress=False, accelerator="cpu")
    assert 0 < scores["rmse"] < 2
    assert main(["predict", str(checkpoint), "--numbers", "0.5, 0.5"]) == 0
    assert 95 < float(capsys.readouterr().out) < 106

    assert main([*command[:-2], "--feature_columns", " hour", *folders, *sizes, "--seed", "1"]) == 0
    chosen = [one for one in (tmp_path / "runs").rglob("checkpoint") if one != checkpoint]
    assert load_saved_model(str(chosen[0]))[0].config.feature_names == ["hour"]
    for typed, message in (
        (["--feature_columns", "hour,,y"], 'hour,,y\': expected names with "," between them'),
        (["--batch_size", "9"], "batch_size=9: a step has one sequence; --rows_per_step says of how many rows"),
        (["--rows_per_step", "1"], "rows_per_step=1: expected 2 or more"),
        (["--protocol", "best_test"], "protocol='best_test': it has random splits"),
        (["--variant", "dot", "--p_norm", "3"], "p_norm=3: dot has none; ikan_direct, mikan have one"),
    ):
        capsys.readouterr()
        assert main([*command, *typed]) == 2
        assert message in capsys.readouterr().err


def test_the_mean_and_boosted_trees_stand_beside_a_users_rows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The price is 10 for small sizes and 30 for large ones: trees find it, the mean is 10 off."""
    monkeypatch.chdir(tmp_path)
    sizes = np.random.default_rng(0).permutation(400)
    lines = [f"{size + 100 * (size >= 200)},{size % 7},{30 if size >= 200 else 10}" for size in sizes.tolist()]
    Path("own.csv").write_text("\n".join(["size,age,price", *lines]) + "\n")
    command = ["train", "regression", "--data", "own.csv", "--tiny"]
    begins = ["the mean of the target has ", "gradient boosting has "]
    said = check_baselines(command, begins, ["mean", "gradient_boosting"], capsys)
    trees, mean = (result_of(name).metrics for name in ("gradient_boosting", "mean"))
    assert trees["test/rmse"] < 3 < 9.9 < mean["test/rmse"] < 10.5
    assert (
        f"gradient boosting has {trees['test/rmse']:.2f} RMSE and {trees['test/r2']:.2f} R2 on test (100 trees of "
        "scikit-learn's HistGradientBoostingRegressor, fitted on train); this model's RMSE beside it: +"
    ) in said
    assert (
        "; lower is better; gradient boosting is better here: on these rows take gradient boosting, which also trains "
        "in seconds\n"
    ) in said


def test_many_rows_tell_how_long_trees_take_and_give_the_same(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    x = np.random.default_rng(0).normal(size=(300, 3))
    few = ALL_BASELINES["gradient_boosting"](x, x[:, 0] * x[:, 1], 0).predict(x)
    assert capsys.readouterr().out == ""
    monkeypatch.setattr("ctxzoo.tasks.regression.baselines.MANY_ROWS", 300)
    assert (ALL_BASELINES["gradient_boosting"](x, x[:, 0] * x[:, 1], 0).predict(x) == few).all()
    assert capsys.readouterr().out.startswith("gradient boosting beside it, fitted to 300 rows: ")
