"""What the demo's data sets are described by: the texts that lie beside their generators."""

from importlib import resources

__all__ = ["catalog_text", "policy_text"]


def catalog_text(name: str) -> str:
    """The `dataset.toml` of `people` or `firms`."""
    return resources.files("confide.demo").joinpath(f"{name}.toml").read_text(encoding="utf-8")


def policy_text(name: str) -> str | None:
    """The `policy.toml` of `people` or `firms`, if it has its own; people follow the site's."""
    file = resources.files("confide.demo").joinpath(f"{name}.policy.toml")
    return file.read_text(encoding="utf-8") if file.is_file() else None
