"""Which machine a name means."""

from ipaddress import ip_address

__all__ = ["is_loopback"]


def is_loopback(host: str) -> bool:
    """Whether a host is this machine itself.

    >>> is_loopback("[::1]"), is_loopback("10.0.0.1")
    (True, False)
    """
    try:
        return host.lower() == "localhost" or ip_address(host.removeprefix("[").removesuffix("]")).is_loopback
    except ValueError:
        return False
