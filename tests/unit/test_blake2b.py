"""Digests of many messages are those of hashlib."""

import hashlib
import random

import pyarrow as pa
import pytest

from confide.site.coding.blake2b import LANES, keyed_digests
from confide.site.secret import Secret


@pytest.mark.parametrize("key", [b"k", b"x" * 32, b"y" * 64])
def test_digests_of_messages_of_any_length_are_those_of_hashlib(key: bytes) -> None:
    messages = [random.Random(size).randbytes(size) for size in range(300)]
    found = keyed_digests(key, pa.array(messages))
    assert [row.tobytes() for row in found] == [
        hashlib.blake2b(message, key=key, digest_size=32).digest() for message in messages
    ]


def test_digests_of_many_short_messages_are_those_of_hashlib_wherever_a_long_or_an_empty_one_stands() -> None:
    """Short ones are mixed together, as many as there are lanes."""
    for changed, other in ((None, b""), (0, b""), (LANES, b"long" * 40), (3 * LANES, b"")):
        messages = [b"person %d" % n for n in range(3 * LANES + 7)]
        if changed is not None:
            messages[changed] = other
        found = keyed_digests(b"key", pa.array(messages))
        expected = b"".join(hashlib.blake2b(each, key=b"key", digest_size=32).digest() for each in messages)
        assert found.tobytes() == expected


def test_a_part_of_an_array_of_text_is_read_from_where_it_begins() -> None:
    messages = pa.array(["zero", "one", "", "drei"]).slice(1, 3)
    expected = Secret(b"a" * 32).digests("record", [b"one", b"", b"drei"])
    assert (Secret(b"a" * 32).digests("record", messages) == expected).all()


def test_no_messages_have_no_digests() -> None:
    assert keyed_digests(b"key", pa.array([], pa.string())).shape == (0, 4)
