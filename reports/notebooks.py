"""The notebooks with what they print and draw: each run in a kernel of its own, in an empty folder, and stored.

python -m reports.notebooks              run every notebook of notebooks/, and store what it prints and draws
python -m reports.notebooks hcrnn lama   the same of these
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

from ctxzoo.data.files import write_atomically

ROOT = Path(__file__).parents[1]
NOTEBOOKS = ROOT / "notebooks"
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
# One thread, so that sums are the same; no network, no progress bars.
ENVIRONMENT = {
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "HF_HUB_OFFLINE": "1",
    "OMP_NUM_THREADS": "1",
    "PYTHONPATH": str(ROOT),
    "PYTHONWARNINGS": "ignore:IProgress not found",  # tqdm, without ipywidgets
    "TQDM_DISABLE": "1",
}
SECONDS = 600  # of a cell


def run_notebook(path: Path, folder: Path) -> Any:
    """Run a notebook from top to bottom, and return it with what its cells printed and drew.

    Args:
        path: Notebook; the file stays as it is.
        folder: Working folder of its kernel, which gets the files that it writes.

    Returns:
        The notebook, of nbformat; metadata is `METADATA`, its cells have none.

    Raises:
        CellExecutionError: a cell failed.
        ValueError: a cell wrote to stderr, warnings for instance.
    """
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    client = NotebookClient(
        notebook,
        timeout=SECONDS,
        record_timing=False,
        coalesce_streams=True,
        resources={"metadata": {"path": str(folder)}},
    )
    client.execute(env={**os.environ, **ENVIRONMENT})
    notebook.metadata = nbformat.from_dict(METADATA)  # type: ignore[no-untyped-call]
    for number, cell in enumerate(list_code_cells(notebook), start=1):
        cell.metadata = nbformat.from_dict({})  # type: ignore[no-untyped-call]
        warnings = "".join(output.text for output in cell.outputs if output.get("name") == "stderr")
        if warnings:
            raise ValueError(f"code cell {number} of {path.name} wrote to stderr; expected nothing there: {warnings}")
    return notebook


def list_code_cells(notebook: Any) -> list[Any]:
    """Return the code cells of a notebook, in their order."""
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def get_printed_text(cell: Any) -> str:
    """Return the text that a code cell printed."""
    return "".join(output.text for output in cell.outputs if output.output_type == "stream")


def get_drawn_pictures(cell: Any) -> list[str]:
    """Return the PNG pictures that a code cell shows, each in base64."""
    shown = [output.data for output in cell.outputs if output.output_type in ("display_data", "execute_result")]
    return [data["image/png"] for data in shown if "image/png" in data]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run notebooks and store what they print and draw; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m reports.notebooks", description=(__doc__ or "").split("\n")[0])
    names = sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb"))
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"notebooks to run; default: all, {', '.join(names)}")
    for name in parser.parse_args(arguments).names or names:
        if name not in names:
            parser.error(f"notebook is {name!r}; expected one of {', '.join(names)}")
        path = NOTEBOOKS / f"{name}.ipynb"
        with tempfile.TemporaryDirectory() as folder:
            notebook = run_notebook(path, Path(folder))
        write_atomically(path, (nbformat.writes(notebook) + "\n").encode())  # type: ignore[no-untyped-call]
        print(f"{name}: {len(list_code_cells(notebook))} code cells, {path.stat().st_size / 1024:.0f} KiB")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
