"""What of a time and of a clicked address may stay in a log: the day, and the site."""

import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["days_of", "sites_of"]


def days_of(times: pa.ChunkedArray) -> pa.ChunkedArray:
    """The day of each time: of an ISO date, or of seconds or milliseconds since 1970 (UTC); of what is no time, nothing.

    >>> days_of(pa.chunked_array([["2026-01-02 23:59:58", "1767398398", "soon"]])).to_pylist()
    ['2026-01-02', '2026-01-02', None]
    """
    times = times.cast(pa.string())
    iso = pc.if_else(pc.match_substring_regex(times, r"^\d{4}-\d\d-\d\d"), pc.utf8_slice_codeunits(times, 0, 10), None)
    digits = pc.match_substring_regex(times, r"^(\d{10}|\d{13})$")
    seconds = pc.utf8_slice_codeunits(pc.if_else(digits, times, None), 0, 10).cast(pa.int64())
    return pc.coalesce(iso, pc.strftime(seconds.cast(pa.timestamp("s")), "%Y-%m-%d"))


def sites_of(addresses: pa.ChunkedArray) -> pa.ChunkedArray:
    """The site of each web address, in lower case, without path, user or port.

    >>> sites_of(pa.chunked_array([["https://ann@Example.org:80/me?q=1", "example.org"]])).to_pylist()
    ['example.org', 'example.org']
    """
    pattern = r"^(?:[\w+.-]+://)?(?:[^/?#@]*@)?([^/?#:]*).*$"
    return pc.replace_substring_regex(pc.utf8_lower(addresses.cast(pa.string())), pattern, r"\1")
