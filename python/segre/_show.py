"""Whether progress is drawn as a bar, which is the case on a terminal and in a notebook, or as plain lines."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from . import _core


def ready() -> None:
    """Prepares standard error for the work that follows. Called before anything that may take long."""
    stream = sys.stderr
    terminal = stream is not None and hasattr(stream, "isatty") and stream.isatty()
    _core.send_log_to_python(redraws=terminal or "ipykernel" in sys.modules)


def note(text: str) -> None:
    """Prints a note that the user should know but need not act on."""
    if sys.stderr is not None:
        print(f"note: {text}", file=sys.stderr)


def notes(texts: Sequence[str]) -> None:
    """Prints several."""
    for text in texts:
        note(text)
