"""How a model looks in a notebook: its name, and a few samples as a picture or a table."""

from __future__ import annotations

import base64
import html
import struct
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ._model import Model

_SAMPLES = 8


def view(model: Model) -> str:
    """A heading and a few samples."""
    head = f"<b>segre.Model</b> {html.escape(str(model.space))}, step {model.step}"
    items = model.sample(_SAMPLES)
    if model.space.layout == "image":
        return f'<div>{head}<br><img style="image-rendering:pixelated" width="512" src="{_picture(model, items)}"></div>'
    if hasattr(items, "to_pandas"):  # a frame of Arrow or Polars
        items = items.to_pandas()
    if model.space.layout == "table" and hasattr(items, "to_html"):
        return f"<div>{head}{items.to_html(index=False)}</div>"
    rows = "\n".join(html.escape(str(row)) for row in np.asarray(items)) if model.space.layout != "table" else ""
    return f"<div>{head}<pre>{rows}</pre></div>"


def _picture(model: Model, images: Any) -> str:
    """Images side by side, a pixel apart, as the address of a PNG."""
    labels = np.asarray(images, np.int64)
    largest = max(1, model.space.n_labels(0) - 1)
    grey = np.pad((labels * (255 // largest)).astype(np.uint8), ((0, 0), (0, 0), (0, 1)), constant_values=128)
    return "data:image/png;base64," + base64.b64encode(png(np.concatenate(list(grey), axis=1)[:, :-1])).decode()


def png(grey: np.typing.NDArray[np.uint8]) -> bytes:
    """A picture [height, width] of grey levels as a PNG file."""
    height, width = grey.shape
    lines = b"".join(b"\0" + line.tobytes() for line in grey)

    def chunk(kind: bytes, contents: bytes) -> bytes:
        check = zlib.crc32(kind + contents)
        return struct.pack(">I", len(contents)) + kind + contents + struct.pack(">I", check)

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")
