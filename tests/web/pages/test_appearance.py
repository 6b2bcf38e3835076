"""What a site shows of itself: its name, logo, colours, contact and footer on every page."""

import re
import struct
import zlib
from pathlib import Path

import pytest

from confide.errors import Mistake
from confide.site.backup import back_up
from confide.site.looks.appearance import Appearance, read_appearance
from confide.site.looks.colours import DARK, LEAST_CONTRAST, LIGHT, contrast

SVG = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 20"><rect width="40" height="20" fill="{}"/></svg>'
SETTINGS = """name = "Statistics <Norland>"
contact = "data@stats.example.org"
footer = "Statistics Norland & Co, Northtown."
accent = "#7a1f5c"
accent_dark = "#f0a6d8"
logo = "logo.svg"
logo_dark = "dark.png"
"""


def png() -> bytes:
    """One white point."""
    parts = [
        (b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)),
        (b"IDAT", zlib.compress(b"\0\xff")),
        (b"IEND", b""),
    ]
    blocks = (struct.pack(">I", len(d)) + k + d + struct.pack(">I", zlib.crc32(k + d)) for k, d in parts)
    return b"\x89PNG\r\n\x1a\n" + b"".join(blocks)


def dress(site: Path, settings: str = SETTINGS) -> Path:
    (site / "site.toml").write_text(settings)
    (site / "logo.svg").write_text(SVG.format("#7a1f5c"))
    (site / "dark.png").write_bytes(png())
    return site


@pytest.fixture
def dressed(site, serve_here):
    return serve_here(dress(site))


@pytest.mark.parametrize(
    "address", ["/", "/about", "/people", "/people/table?rows=sex", "/api", "/login", "/nothing/here"]
)
def test_every_page_shows_the_name_logo_colours_contact_and_footer(dressed, address):
    page = dressed.get(address).text
    assert "– Statistics &lt;Norland&gt;</title>" in page and "</picture>Statistics &lt;Norland&gt;</a>" in page
    assert "Statistics Norland &amp; Co, Northtown." in page and 'href="mailto:data@stats.example.org"' in page
    for pattern, kind in (
        (r'href="(/static/site\.\w+\.css)"', "text/css"),
        (r'src="(/static/logo\.\w+\.svg)"', "image/svg+xml"),
        (r'srcset="(/static/logo-dark\.\w+\.png)"', "image/png"),
    ):
        address = re.search(pattern, page)[1]
        answer = dressed.get(address)
        assert answer.status_code == 200 and answer.headers["content-type"].startswith(kind)
        assert "immutable" in answer.headers["cache-control"]
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_the_colours_come_after_those_of_confide_and_are_the_sites(dressed):
    page = dressed.get("/").text
    sheets = re.findall(r'rel="stylesheet" href="([^"]+)"', page)
    assert [sheet.split(".")[0] for sheet in sheets] == ["/static/confide", "/static/site"]
    css = dressed.get(sheets[1]).text
    assert "--accent: #7a1f5c;" in css.split("@media")[0] and "--accent: #f0a6d8;" in css.split("@media")[1]


def test_a_site_without_settings_is_confide(server):
    page = server.get("/").text
    assert "– Confide</title>" in page and "/static/site." not in page and "Contact" not in page


def test_the_papers_that_colours_are_checked_on_are_those_of_the_stylesheet():
    from importlib import resources

    css = resources.files("confide.web").joinpath("static/confide.css").read_text()
    for theme, part in zip((LIGHT, DARK), css.split("@media (prefers-color-scheme: dark)")[:2], strict=True):
        assert theme.papers == tuple(re.search(rf"--{name}: (#\w+);", part)[1] for name in ("paper", "shade"))


@pytest.mark.parametrize(
    ("theme", "accent"), [(LIGHT, "#ffcc00"), (LIGHT, "#999999"), (DARK, "#7a1f5c"), (DARK, "#333333")]
)
def test_a_colour_that_could_not_be_read_is_refused_with_one_that_can(theme, accent):
    with pytest.raises(Mistake, match="too faint") as mistake:
        theme.must_suit("accent", accent)
    nearest = mistake.value.suggestions[0].split()[0]
    theme.must_suit("accent", nearest)
    assert all(
        contrast(nearest, paper) >= LEAST_CONTRAST
        for paper in (*theme.papers, theme.shade_of(nearest), theme.ink_on(nearest))
    )


def test_contrast_is_that_of_wcag():
    """#767676 is the lightest grey with 4.5 on white (WebAIM's and WCAG's own example), #777777 has not."""
    assert contrast("#767676", "#ffffff") > 4.5 > contrast("#777777", "#ffffff")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("nme = 'x'", "no setting called 'nme'"),
        ("name = 3", "'name' must be a text"),
        ("name = ''", "cannot be empty"),
        ('name = "a\\u202eb"', "printable"),
        ("footer = '''a\nb'''", "one line"),
        ("contact = 'javascript:alert(1)'", "'contact' must be"),
        ("contact = 'http://example.org'", "'contact' must be"),
        ("accent = '#7a1f5c'", "give both or neither"),
        ("accent = 'red'\naccent_dark = '#f0a6d8'", "must be a colour"),
        ("accent = '#ffcc00'\naccent_dark = '#f0a6d8'", "too faint"),
        ("logo = '../secret'", "must be a file in the site's folder"),
        ("logo = 'secret'", "must be a file in the site's folder"),
        ("logo = 'none.png'", "cannot be read"),
        ("logo_dark = 'dark.png'", "give both"),
        ("name = ", "not valid TOML"),
    ],
)
def test_settings_that_cannot_be_used_are_named(tmp_path, settings, said):
    with pytest.raises(Mistake, match=said) as mistake:
        read_appearance(dress(tmp_path, settings))
    assert "site.toml" in mistake.value.message


@pytest.mark.parametrize(
    "drawing",
    [
        "no picture",
        "<html/>",
        SVG.format("red").replace("<rect", "<script>alert(1)</script><rect"),
        SVG.format("red").replace("<rect", '<rect onload="alert(1)"'),
        SVG.format("red").replace("<rect", '<image href="https://evil.example/x.png"/><rect'),
        SVG.format("red").replace("<rect", '<use href="https://evil.example/x.svg#a"/><rect'),
        SVG.format("red").replace("<rect", "<foreignObject><p/></foreignObject><rect"),
        SVG.format("red").replace("<rect", "<style>@import url(//evil.example)</style><rect"),
        SVG.format("url( https://evil.example/x#a)"),
        SVG.format("red").replace("<rect", '<a href="javascript:alert(1)"><g/></a><rect'),
        '<!DOCTYPE svg [<!ENTITY a "aaaa">]>' + SVG.format("red"),
        SVG.format("red").replace("<rect", '<x:script xmlns:x="http://www.w3.org/1999/xhtml"/><rect'),
        SVG.format("red") + " " * 200_000,
    ],
)
def test_a_logo_that_does_more_than_show_itself_is_refused(tmp_path, drawing):
    dress(tmp_path)
    (tmp_path / "logo.svg").write_text(drawing)
    with pytest.raises(Mistake, match="The logo 'logo.svg'"):
        read_appearance(tmp_path)


def test_a_picture_that_is_none_is_refused(tmp_path):
    dress(tmp_path)
    (tmp_path / "dark.png").write_bytes(b"<svg/>")
    with pytest.raises(Mistake, match="'dark.png' is no PNG"):
        read_appearance(tmp_path)


def test_a_site_whose_settings_cannot_be_used_does_not_start(site, run):
    (site / "site.toml").write_text("accent = 'red'\n")
    done = run("serve", site)
    assert done.returncode == 2 and b"site.toml cannot be used" in done.stderr


def test_a_server_takes_up_its_appearance_when_it_loads_anew_and_keeps_it_if_it_cannot_be_used(site, serve, run):
    server = serve(site)
    dress(site)
    assert "– Confide</title>" in server.get("/about").text
    assert run("reload", site).returncode == 0
    page = server.get("/about").text
    logo = re.search(r'src="(/static/logo\.\w+\.svg)"', page)[1]
    assert "Norland" in page and server.get(logo).status_code == 200
    (site / "logo.svg").unlink()
    told = run("reload", site)
    assert told.returncode == 2 and b"'logo.svg' cannot be read" in told.stderr, told
    assert "Norland" in server.get("/about").text and server.get(logo).status_code == 200
    (site / "site.toml").unlink()
    assert run("reload", site).returncode == 0
    assert "– Confide</title>" in server.get("/about").text and server.get(logo).status_code == 404


def test_a_backup_has_the_settings_and_the_logo(site, tmp_path):
    found = back_up(dress(site), tmp_path / "copy")
    assert {"site.toml", "logo.svg", "dark.png"} <= set(found.files)
    assert read_appearance(tmp_path / "copy") == read_appearance(site)


def test_confides_own_accent_would_be_taken():
    assert Appearance(accent="#0f5c6e", accent_dark="#72c7d8").css
