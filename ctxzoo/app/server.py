"""Serving a page: no telemetry, no share link, and nothing asked of any machine but this one."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import gradio as gr

# What gradio and huggingface_hub send unless they are told otherwise; read when a page is built.
SILENCE = {"GRADIO_ANALYTICS_ENABLED": "False", "HF_HUB_DISABLE_TELEMETRY": "1"}
LOOPBACK = "127.0.0.1,localhost"  # gradio asks its own server whether it is there, which no proxy can answer
FONTS = ("system-ui", "sans-serif")  # of the reader's machine; gradio's own come from another


def prepare_gradio() -> None:
    """Switch off telemetry, and raise an error if gradio is not installed.

    Raises:
        ImportError: gradio is missing; the message says how to install it.
    """
    os.environ.update(SILENCE)
    for name in ("NO_PROXY", "no_proxy"):
        os.environ[name] = ",".join(filter(None, (os.environ.get(name), LOOPBACK)))
    try:
        import gradio  # noqa: F401
    except ImportError as error:
        raise ImportError("pages need gradio, of the extra app: pip install gradio") from error


def serve_page(
    blocks: gr.Blocks, host: str | None = None, port: int | None = None, *, open_browser: bool = False
) -> None:
    """Serve a page until Ctrl-C, and print its address.

    Args:
        blocks, host, port, open_browser: Page, and where it is served, as in `start_page`.

    Raises:
        OSError: the port is taken, or the host is none of this machine's.
        KeyboardInterrupt: Ctrl-C, once the server has stopped.
    """
    address = start_page(blocks, host, port, open_browser=open_browser)
    print(f"the page is at {address} (Ctrl-C stops it)", flush=True)
    try:
        threading.Event().wait()
    finally:
        blocks.close(verbose=False)


def start_page(
    blocks: gr.Blocks, host: str | None = None, port: int | None = None, *, open_browser: bool = False
) -> str:
    """Serve a page in a thread, and return its address.

    Args:
        blocks: Page to serve.
        host: Address to listen at; default: $GRADIO_SERVER_NAME, which Spaces set, or this machine alone.
        port: Port to listen at; default: $GRADIO_SERVER_PORT, or the first free one from 7860 on.
        open_browser: Whether a browser is opened on the page.

    Raises:
        OSError: the port is taken, or the host is none of this machine's.
    """
    import gradio as gr

    from ctxzoo.app.frame import STYLE

    try:
        address: str = blocks.launch(
            server_name=host,
            server_port=port,
            inbrowser=open_browser,
            prevent_thread_lock=True,
            quiet=True,
            share=False,
            ssr_mode=False,
            footer_links=[],
            theme=gr.themes.Default(primary_hue="blue", font=FONTS, font_mono=FONTS),
            css=STYLE,
        )[1]
    except OSError as error:
        raise OSError(
            f"cannot listen at {host or 'this machine'}, port {port or 'from 7860 on'}: another program may have it; "
            "give another --port"
        ) from error
    return address
