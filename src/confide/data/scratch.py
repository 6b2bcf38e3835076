"""Arrays put aside on disk while they are not looked at, and mapped into memory.

Promise: their files have no names, so that they go with the process, however that ends, and nobody else can open them.
"""

import mmap
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from confide.errors import Fault

__all__ = ["Scratch"]

LARGE = 1 << 25
"""Arrays of fewer bytes than this stay in memory."""


@dataclass(frozen=True)
class Scratch:
    """A place for arrays in a folder, which should be on a disk: what is there is secret, and as large as the data."""

    folder: Path

    def keep(self, array: pa.Array) -> pa.Array:
        """The same array, read from disk if it is large."""
        if array.nbytes < LARGE or array.offset:
            return array
        buffers = [None if buffer is None else self._mapped(buffer) for buffer in array.buffers()]
        return pa.Array.from_buffers(array.type, len(array), buffers, array.null_count)

    def _mapped(self, buffer: pa.Buffer) -> pa.Buffer:
        try:
            with tempfile.TemporaryFile(dir=self.folder) as file:
                file.write(buffer)
                file.flush()
                return pa.py_buffer(mmap.mmap(file.fileno(), buffer.size, access=mmap.ACCESS_READ))
        except OSError as error:
            raise Fault(
                f"Records could not be put aside on disk ({error.strerror}); the former ones, if any, are untouched.",
                suggestions=["Check that the disk has room for the data once more, then ingest again."],
            ) from None
