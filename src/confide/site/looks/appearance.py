"""How a site presents itself: `site.toml` with its name, logo, colours, contact and footer, each checked before anybody sees it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from confide.errors import Mistake, nearest
from confide.site.looks.colours import DARK, LIGHT, Theme
from confide.site.looks.logo import check_logo
from confide.site.state.setting import read_site_file

__all__ = ["Appearance", "read_appearance"]

_KEYS = ("name", "contact", "footer", "accent", "accent_dark", "logo", "logo_dark")
_MAIL = re.compile(r"[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+")
_WEB = re.compile(r"https://[A-Za-z0-9.-]+(/[A-Za-z0-9._~/-]*)?")
_LONGEST = {"name": 60, "contact": 200, "footer": 300, "logo": 100, "logo_dark": 100}


@dataclass(frozen=True)
class Appearance:
    """What every page shows of the site it belongs to; without a `site.toml`, that it is Confide.

    `accent` and `accent_dark` colour links and buttons of light and of dark pages; `files` are what browsers fetch for it, by name.

    >>> Appearance(contact="data@example.org").contact_address
    'mailto:data@example.org'
    """

    name: str = "Confide"
    contact: str = ""
    footer: str = ""
    accent: str = ""
    accent_dark: str = ""
    logo: str = ""
    logo_dark: str = ""
    files: Mapping[str, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.name:
            raise Mistake("A site's 'name' cannot be empty.")
        for key, longest in _LONGEST.items():
            _must_be_line(key, getattr(self, key), longest)
        if self.contact and not _MAIL.fullmatch(self.contact) and not _WEB.fullmatch(self.contact):
            raise Mistake("'contact' must be a mail address, or an address that begins with https://.")
        if bool(self.accent) != bool(self.accent_dark):
            raise Mistake("'accent' is for light pages and 'accent_dark' for dark ones: give both or neither.")
        if self.logo_dark and not self.logo:
            raise Mistake("'logo_dark' is the 'logo' for dark pages: give both.")
        if self.accent:
            LIGHT.must_suit("accent", self.accent)
            DARK.must_suit("accent_dark", self.accent_dark)

    @property
    def contact_address(self) -> str:
        """Where the contact leads."""
        return f"mailto:{self.contact}" if _MAIL.fullmatch(self.contact) else self.contact

    @property
    def css(self) -> str:
        """The colours as a stylesheet that comes after that of Confide; nothing if they are Confide's."""
        if not self.accent:
            return ""
        dark = _rule(DARK, self.accent_dark)
        return f"{_rule(LIGHT, self.accent)}\n@media (prefers-color-scheme: dark) {{ {dark} }}\n"


def read_appearance(folder: Path) -> Appearance:
    """What the `site.toml` of a site says, with the files of its logo; Confide's own appearance if there is none."""
    shown = {key: value for key, value in read_site_file(folder).items() if key != "state"}
    try:
        return _appearance(shown, folder)
    except Mistake as mistake:
        what = f"{folder / 'site.toml'} cannot be used: {mistake.message}"
        raise Mistake(what, suggestions=mistake.suggestions) from None


def _appearance(raw: Mapping[str, Any], folder: Path) -> Appearance:
    for key, value in raw.items():
        if key not in _KEYS:
            raise Mistake(f"There is no setting called {key[:60]!r}.", suggestions=nearest(key, _KEYS))
        if not isinstance(value, str):
            raise Mistake(f"{key!r} must be a text.")
    found = Appearance(**raw)
    named = {key: getattr(found, key) for key in ("logo", "logo_dark") if getattr(found, key)}
    files = {f"{key.replace('_', '-')}{Path(name).suffix}": check_logo(folder, name) for key, name in named.items()}
    return Appearance(**raw, files=files | ({"site.css": found.css.encode()} if found.css else {}))


def _must_be_line(key: str, text: str, longest: int) -> None:
    if len(text) > longest or not text.isprintable() or text != text.strip():
        raise Mistake(f"{key!r} must be one line of at most {longest} printable characters, without spaces around it.")


def _rule(theme: Theme, accent: str) -> str:
    values = {"accent": accent, "accent-ink": theme.ink_on(accent), "accent-shade": theme.shade_of(accent)}
    return f":root {{ {' '.join(f'--{name}: {value};' for name, value in values.items())} }}"
