"""The pictures of the tutorial are those that the script takes, and the script takes them from a real site."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_script_takes_every_picture_of_the_tutorial(tmp_path: Path) -> None:
    subprocess.run([sys.executable, ROOT / "scripts/screenshots.py", "--to", tmp_path], check=True, cwd=tmp_path)
    taken = {file.name: file.stat().st_size for file in tmp_path.glob("*.png")}
    assert all(size > 10_000 for size in taken.values())
    shown = re.findall(r"pictures/(\S+\.png)", (ROOT / "docs/tutorials/in-the-browser.md").read_text("utf-8"))
    assert sorted(shown) == sorted(taken)
    assert set(shown) == {file.name for file in (ROOT / "docs/tutorials/pictures").glob("*.png")}
