"""A folder that runs as a Space of the Hub: the page of one checkpoint."""

from __future__ import annotations

import re
from pathlib import Path

from ctxzoo.data.files import atomic_folder, path_exists, refuse_filled_folder
from ctxzoo.hub.packing import pack
from ctxzoo.version import version

REQUIREMENTS = "requirements.txt"
APP = '''\
"""The page of a checkpoint of ctxzoo; `python app.py` serves it."""

from pathlib import Path

from ctxzoo.app.server import serve_page
from ctxzoo.checkpoints import build_app

serve_page(build_app({checkpoint}))
'''
README = """\
---
title: {title}
sdk: gradio
sdk_version: {gradio}
python_version: "3.11"
app_file: app.py
pinned: false
{models}---

# {title}

The page of a checkpoint of ctxzoo, written by `ctxzoo app`. It runs anywhere: `pip install -r requirements.txt`, then
`python app.py`.

`hf upload USER/NAME . --type space` in this folder makes it a Space.
"""
NO_RELEASE = """\
# ctxzoo {version} is no release, and pip finds none by its name. Put the address of a wheel, or of the source at a
# commit, into the next line, and take its # away:
# ctxzoo[app] @ ADDRESS
"""


def write_space(checkpoint: str, folder: Path) -> list[str]:
    """Write a folder that runs as a Space, and return lines that say what it holds.

    Args:
        checkpoint: Checkpoint folder, which is packed into the new one, or Hub id, which is only named there.
        folder: Folder to write, empty or missing; it appears only when it is complete.

    Raises:
        FileExistsError: `folder` holds something, or is a file.
        ImportError: gradio is missing; the message says how to install it.
        CheckpointFolderError, OSError, ValueError: no checkpoint that has a page.
    """
    from ctxzoo.app.server import prepare_gradio

    prepare_gradio()
    import gradio

    from ctxzoo.app.frame import get_title

    refuse_filled_folder(folder, "the Space")
    is_folder = path_exists(Path(checkpoint))
    title = re.sub(r"[^\w.-]", "-", get_title(checkpoint))
    place = f'Path(__file__).parent / "{title}"' if is_folder else repr(checkpoint)
    models = "" if is_folder else f"models:\n- {checkpoint}\n"
    release, found = ".dev" not in version(), version()
    requirement = f"ctxzoo[app]=={found}\n" if release else NO_RELEASE.format(version=found)
    with atomic_folder(folder) as new:
        if is_folder:
            pack(checkpoint, new / title)
        (new / "app.py").write_text(APP.format(checkpoint=place), encoding="utf-8")
        (new / REQUIREMENTS).write_text(requirement, encoding="utf-8")
        text = README.format(title=title, gradio=gradio.__version__, models=models)
        (new / "README.md").write_text(text, encoding="utf-8")
    notes = (
        []
        if release
        else [f"note: {folder / REQUIREMENTS}: ctxzoo {found} is no release; say there where pip finds it"]
    )
    held = "the checkpoint" if is_folder else f"the id of {checkpoint}"
    return [
        f"{folder}: a Space with app.py, {REQUIREMENTS}, README.md and {held}; `python {folder / 'app.py'}` tries it",
        *notes,
    ]
