"""Keyed BLAKE2b (RFC 7693) of millions of short messages, compiled: a tenth of the time of calling hashlib for each."""

import hashlib

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from confide.arrays import Ints
from confide.data.compiling import compiled

__all__ = ["keyed_digests"]

Words = NDArray[np.uint64]
Bytes = NDArray[np.uint8]

LANES = 256
"""Messages of one block that are mixed together, the same word of each beside the others: so a processor mixes several with one
instruction, in a third of the time. Fewer at once would not pay for the look whether it may."""

BLOCK = hashlib.blake2b.MAX_KEY_SIZE * 2
DIGEST = 32

START = np.array(
    [
        *(0x6A09E667F3BCC908, 0xBB67AE8584CAA73B, 0x3C6EF372FE94F82B, 0xA54FF53A5F1D36F1),
        *(0x510E527FADE682D1, 0x9B05688C2B3E6C1F, 0x1F83D9ABFB41BD6B, 0x5BE0CD19137E2179),
    ],
    np.uint64,
)
"""The first words of the fractions of roots, as RFC 7693 has them."""

ORDERS = np.array(
    [
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
        [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
        [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4],
        [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
        [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13],
        [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
        [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11],
        [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
        [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5],
        [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
        [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
    ],
    np.uint8,
)


def keyed_digests(key: bytes, messages: pa.Array) -> Words:
    """Four 64-bit words for each message: those of `hashlib.blake2b(message, key=key, digest_size=32)`.

    >>> found = keyed_digests(b"key", pa.array([b"one", b"two"]))
    >>> found[1].tobytes() == hashlib.blake2b(b"two", key=b"key", digest_size=32).digest()
    True
    """
    wide = messages.cast(pa.large_binary())
    _, offsets, data = wide.buffers()
    starts = np.frombuffer(offsets, np.int64)[wide.offset : wide.offset + len(wide) + 1]
    padded = np.frombuffer(key.ljust(BLOCK, b"\0"), np.uint64)
    found = np.empty((len(wide), DIGEST // 8), np.uint64)
    _digest_all(padded, len(key), starts, np.frombuffer(data or b"", np.uint8), found)
    return found


@compiled
def _digest_all(
    key: Words, length: int, starts: Ints, data: Bytes, found: Words
) -> None:  # pragma: no cover - compiled
    begun, only = START.copy(), START.copy()
    begun[0] ^= np.uint64(0x01010000 ^ (length << 8) ^ DIGEST)
    only[0] = begun[0]
    work = np.empty(16, np.uint64)
    _compress(begun, key, work, BLOCK, False)
    _compress(only, key, work, BLOCK, True)  # what an empty message gives: the key is the last block
    state, block = np.empty(8, np.uint64), np.empty(16, np.uint64)
    states, blocks, wide = (
        np.empty((8, LANES), np.uint64),
        np.empty((16, LANES), np.uint64),
        np.empty((16, LANES), np.uint64),
    )
    for first in range(0, len(found), LANES):
        if first + LANES <= len(found) and _are_short(starts, first):
            _fill(blocks, starts, data, first)
            _compress_lanes(begun, states, blocks, wide, starts, first)
            found[first : first + LANES] = states[: found.shape[1]].T
            continue
        for i in range(first, min(first + LANES, len(found))):
            size = starts[i + 1] - starts[i]
            state[:] = begun if size else only
            done = 0
            while done < size:
                left = min(size - done, BLOCK)
                block[:] = 0
                for at in range(left):
                    block[at >> 3] |= np.uint64(data[starts[i] + done + at]) << np.uint64((at & 7) << 3)
                done += left
                _compress(state, block, work, BLOCK + done, done == size)
            found[i] = state[: found.shape[1]]


@compiled
def _are_short(starts: Ints, first: int) -> bool:  # pragma: no cover - compiled
    """Whether the messages from the first on have one block each."""
    for at in range(first, first + LANES):  # noqa: SIM110 - compiled code knows no generators
        if not 0 < starts[at + 1] - starts[at] <= BLOCK:
            return False
    return True


@compiled
def _fill(blocks: Words, starts: Ints, data: Bytes, first: int) -> None:  # pragma: no cover - compiled
    """The words of messages of one block, padded with zeros."""
    blocks[:] = 0
    for lane in range(LANES):
        begin = starts[first + lane]
        for at in range(starts[first + lane + 1] - begin):
            blocks[at >> 3, lane] |= np.uint64(data[begin + at]) << np.uint64((at & 7) << 3)


@compiled
def _compress_lanes(
    begun: Words, states: Words, block: Words, v: Words, starts: Ints, first: int
) -> None:  # pragma: no cover - compiled
    """`_compress` of the last blocks of several messages, a column each."""
    for at in range(8):
        states[at], v[at], v[at + 8] = begun[at], begun[at], START[at]
    for lane in range(LANES):
        v[12, lane] ^= np.uint64(BLOCK + starts[first + lane + 1] - starts[first + lane])
        v[14, lane] = ~v[14, lane]
    for number in range(12):
        order = ORDERS[number]
        _mix_lanes(v, 0, 4, 8, 12, block[order[0]], block[order[1]])
        _mix_lanes(v, 1, 5, 9, 13, block[order[2]], block[order[3]])
        _mix_lanes(v, 2, 6, 10, 14, block[order[4]], block[order[5]])
        _mix_lanes(v, 3, 7, 11, 15, block[order[6]], block[order[7]])
        _mix_lanes(v, 0, 5, 10, 15, block[order[8]], block[order[9]])
        _mix_lanes(v, 1, 6, 11, 12, block[order[10]], block[order[11]])
        _mix_lanes(v, 2, 7, 8, 13, block[order[12]], block[order[13]])
        _mix_lanes(v, 3, 4, 9, 14, block[order[14]], block[order[15]])
    for at in range(8):
        for lane in range(LANES):
            states[at, lane] ^= v[at, lane] ^ v[at + 8, lane]


@compiled
def _mix_lanes(v: Words, a: int, b: int, c: int, d: int, x: Words, y: Words) -> None:  # pragma: no cover - compiled
    for lane in range(LANES):
        one = v[a, lane] + v[b, lane] + x[lane]
        four = _turned(v[d, lane] ^ one, 32)
        three = v[c, lane] + four
        two = _turned(v[b, lane] ^ three, 24)
        one = one + two + y[lane]
        four = _turned(four ^ one, 16)
        three = three + four
        v[a, lane], v[b, lane], v[c, lane], v[d, lane] = one, _turned(two ^ three, 63), three, four


@compiled
def _compress(state: Words, block: Words, v: Words, counted: int, last: bool) -> None:  # pragma: no cover - compiled
    """The function F of the standard: twelve rounds, each in an order of its own."""
    for at in range(8):
        v[at], v[at + 8] = state[at], START[at]
    v[12] ^= np.uint64(counted)
    if last:
        v[14] = ~v[14]
    for number in range(12):
        order = ORDERS[number]
        _mix(v, 0, 4, 8, 12, block[order[0]], block[order[1]])
        _mix(v, 1, 5, 9, 13, block[order[2]], block[order[3]])
        _mix(v, 2, 6, 10, 14, block[order[4]], block[order[5]])
        _mix(v, 3, 7, 11, 15, block[order[6]], block[order[7]])
        _mix(v, 0, 5, 10, 15, block[order[8]], block[order[9]])
        _mix(v, 1, 6, 11, 12, block[order[10]], block[order[11]])
        _mix(v, 2, 7, 8, 13, block[order[12]], block[order[13]])
        _mix(v, 3, 4, 9, 14, block[order[14]], block[order[15]])
    for at in range(8):
        state[at] ^= v[at] ^ v[at + 8]


@compiled
def _mix(v: Words, a: int, b: int, c: int, d: int, x: int, y: int) -> None:  # pragma: no cover - compiled
    """The function G of the standard."""
    v[a] = v[a] + v[b] + x
    v[d] = _turned(v[d] ^ v[a], 32)
    v[c] = v[c] + v[d]
    v[b] = _turned(v[b] ^ v[c], 24)
    v[a] = v[a] + v[b] + y
    v[d] = _turned(v[d] ^ v[a], 16)
    v[c] = v[c] + v[d]
    v[b] = _turned(v[b] ^ v[c], 63)


@compiled
def _turned(word: np.uint64, bits: int) -> np.uint64:  # pragma: no cover - compiled
    return (word >> np.uint64(bits)) | (word << np.uint64(64 - bits))
