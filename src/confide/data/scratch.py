"""Arrays put aside on disk while they are not looked at, and mapped into memory.

Promise: their files have no names, so that they go with the process, however that ends, and nobody else can open them.
"""

import mmap
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
from numpy.typing import DTypeLike, NDArray

from confide.errors import Fault
from confide.memory import free_memory

__all__ = ["IN_MEMORY", "Keep", "Scratch"]

Keep = Callable[[pa.Array], pa.Array]
"""What puts an array aside, and gives the same array."""


ROOM = 4
"""What is put aside stays in memory that would hold so many times as much: other work needs some, and disks are slower."""

LARGE = 1 << 25
"""Arrays of fewer bytes than this stay in memory."""


@dataclass(frozen=True)
class Scratch:
    """A place for arrays in a folder, which should be on a disk: what is there is secret, and as large as the data.

    Without a folder everything stays in memory.
    """

    folder: Path | None = None

    @classmethod
    def where_needed(cls, folder: Path, size: int) -> "Scratch":
        """For so many bytes in all: in memory where there is room for them several times over, else in a folder."""
        free = free_memory()
        return cls() if free is not None and ROOM * size <= free else cls(folder)

    def keep(self, array: pa.Array) -> pa.Array:
        """The same array, read from disk if it is large."""
        if not self._takes(array.nbytes) or array.offset:
            return array
        buffers = [None if buffer is None else self._mapped(buffer) for buffer in array.buffers()]
        return pa.Array.from_buffers(array.type, len(array), buffers, array.null_count)

    def zeros(self, shape: int | tuple[int, ...], kind: DTypeLike) -> NDArray[Any]:
        """An array of zeros to be written to, on disk if it is large."""
        sizes, kind = (shape if isinstance(shape, tuple) else (shape,)), np.dtype(kind)
        size = prod(sizes) * kind.itemsize
        if not self._takes(size) or not size:
            return np.zeros(sizes, kind)
        with self._file() as file:
            os.posix_fallocate(
                file.fileno(), 0, size
            )  # a disk that is full says so now, and not when a page is written
            return np.frombuffer(mmap.mmap(file.fileno(), size), kind).reshape(sizes)

    def _takes(self, size: int) -> bool:
        return self.folder is not None and size >= LARGE

    def _mapped(self, buffer: pa.Buffer) -> pa.Buffer:
        with self._file() as file:
            file.write(buffer)
            file.flush()
            return pa.py_buffer(mmap.mmap(file.fileno(), buffer.size, access=mmap.ACCESS_READ))

    @contextmanager
    def _file(self) -> Iterator[IO[bytes]]:
        try:
            with tempfile.TemporaryFile(dir=self.folder) as file:
                yield file
        except OSError as error:
            raise Fault(
                f"Records could not be put aside on disk ({error.strerror}); the former ones, if any, are untouched.",
                suggestions=["Check that the disk has room for the data once more, then ingest again."],
            ) from None


IN_MEMORY = Scratch()
"""Where nothing is put aside."""
