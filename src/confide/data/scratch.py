"""Arrays put aside on disk while they are not looked at, and mapped into memory.

Promise: the file has no name, so that it goes with the process, however that ends, and nobody else can open it.
"""

import mmap
import tempfile
import threading
from pathlib import Path

import pyarrow as pa

__all__ = ["Scratch"]

LARGE = 1 << 25
"""Arrays of fewer bytes than this stay in memory."""


class Scratch:
    """A place for arrays in a folder, which should be on a disk: what is there is secret, and as large as the data."""

    def __init__(self, folder: Path) -> None:
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - what is mapped outlives whoever put it there
        self._writing = threading.Lock()

    def keep(self, array: pa.Array) -> pa.Array:
        """The same array, read from disk if it is large."""
        if array.nbytes < LARGE or array.offset:
            return array
        buffers = [None if buffer is None else self._mapped(buffer) for buffer in array.buffers()]
        return pa.Array.from_buffers(array.type, len(array), buffers, array.null_count)

    def _mapped(self, buffer: pa.Buffer) -> pa.Buffer:
        with self._writing:
            return self._written(buffer)

    def _written(self, buffer: pa.Buffer) -> pa.Buffer:
        start = self._file.seek(0, 2)
        start += self._file.write(bytes(-start % mmap.ALLOCATIONGRANULARITY))
        self._file.write(buffer)
        self._file.flush()
        return pa.py_buffer(mmap.mmap(self._file.fileno(), buffer.size, access=mmap.ACCESS_READ, offset=start))
