"""A copy of a site, made while it is served, and a site made from a copy.

Promise: a copy is whole or not there, holds the record of every answer that was given when it was begun, and is checked
before it is used. The secret is never in it: who finds the copy cannot take the noise off the answers. It is kept apart.
"""

import hashlib
import json
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from confide.data.private import create_private
from confide.errors import Fault, Mistake
from confide.site import ledger
from confide.site.documents import KINDS, documents_of
from confide.site.folder import Folder
from confide.site.secret import read_secret
from confide.site.state import open_state
from confide.site.state.setting import MANIFEST

__all__ = ["BackupManifest", "back_up", "restore"]

TRIES = 3
"""How often copying begins again when the site was changed meanwhile."""

_LEFT_OUT = (
    ".partial",
    ".pid",
    ".new",
    ".checkpoint",
    ".anchor",
    ".torn",
    ".sqlite",
    ".sqlite-shm",
    ".sqlite-wal",
    ".turn",
)
"""What belongs to a running process or is made anew; the ledger is copied by itself."""


@dataclass(frozen=True)
class BackupManifest:
    """What a copy holds: digests of its files, the head of its ledger, and the public name of the secret that belongs to it."""

    made: str
    confide: str
    secret: str
    entries: int
    head: str
    files: dict[str, str]


def back_up(site: Path, to: Path, *, secret_to: Path | None = None) -> BackupManifest:
    """Copy a site to a folder that is not there yet, and its secret, if it is wanted, to a file elsewhere."""
    folder = Folder(site)
    folder.names()
    secret = folder.secret()
    _must_be_outside(to, site)
    if secret_to is not None:
        _must_be_outside(secret_to, site)
        _must_be_outside(secret_to, to)
    with _making(to) as copy:
        _take_in_documents(folder)
        _copy_papers(site, copy)
        ledger.take_in(folder.ledger)
        head = ledger.copy(folder.ledger, copy / folder.ledger.name)
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        found = BackupManifest(now, version("confide"), secret.version, head.entries, head.hash, _digests(copy))
        (copy / MANIFEST).write_text(json.dumps(asdict(found), indent=1) + "\n", encoding="utf-8")
        if secret_to is not None:
            create_private(secret_to, (site / "secret").read_text(encoding="ascii"))
    return found


def restore(source: Path, site: Path, *, secret: Path | None = None) -> BackupManifest:
    """Make a site from a copy, where there is none yet; the secret must be the one it was copied with."""
    found = _manifest(source)
    changed = [name for name, digest in found.files.items() if _digest_of(source / name) != digest]
    if changed:
        raise Mistake(f"{changed[0]!r} in {str(source)!r} is not what was copied.", suggestions=["Use another backup."])
    if secret is not None and read_secret(secret).version != found.secret:
        raise Mistake(f"{str(secret)!r} is not the secret of this site.", suggestions=["Every answer would change."])
    with _making(site) as made:
        for name in found.files:
            _copy_file(source / name, made / name)
        head = ledger.copy(source / "ledger.jsonl", made / "ledger.jsonl")
        if (head.entries, head.hash) != (found.entries, found.head):
            what = f"The ledger in {str(source)!r} is not what was copied."
            raise Mistake(what, suggestions=["Use another backup."])
        if secret is not None:
            create_private(made / "secret", secret.read_text(encoding="ascii"))
    return found


def _take_in_documents(folder: Folder) -> None:
    """Let the folder have what other machines wrote, where several serve the site."""
    with closing(open_state(folder.path)) as state:
        for kind in KINDS:
            documents_of(folder.path, kind, state).take_in()


def _copy_papers(site: Path, copy: Path) -> None:
    """Everything but the ledger and the secret, begun again if something was changed meanwhile."""
    for _ in range(TRIES):
        before = dict(_files(site))
        for name in before:
            _copy_file(site / name, copy / name)
        if dict(_files(site)) == before:
            return
        shutil.rmtree(copy)
        copy.mkdir(mode=0o700)
    raise Fault("The site is changed all the time.", suggestions=["Try again when no data are being loaded."])


def _files(site: Path) -> Iterator[tuple[str, tuple[int, int, int]]]:
    """The files to copy, each with what tells that it was replaced or written."""
    for file in sorted(site.rglob("*")):
        name = file.relative_to(site)
        private = name in (Path("secret"), Path("login.secret")) or (
            len(name.parts) == 1 and file.name.startswith("ledger")
        )
        private |= any(part.endswith(".partial") for part in name.parts)  # a vintage that is being written
        if file.is_file() and not private and file.suffix not in _LEFT_OUT and not file.name.startswith("."):
            found = file.stat()
            yield str(name), (found.st_ino, found.st_size, found.st_mtime_ns)


def _copy_file(source: Path, target: Path) -> None:
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fd = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with source.open("rb") as reading, open(fd, "wb") as writing:
        shutil.copyfileobj(reading, writing, 1 << 20)
        writing.flush()
        os.fsync(fd)


def _digests(copy: Path) -> dict[str, str]:
    return {str(file.relative_to(copy)): _digest_of(file) for file in sorted(copy.rglob("*")) if _is_paper(file, copy)}


def _is_paper(file: Path, copy: Path) -> bool:
    return file.is_file() and not (file.parent == copy and file.name.startswith("ledger"))


def _digest_of(file: Path) -> str:
    try:
        with file.open("rb") as reading:
            return hashlib.file_digest(reading, "sha256").hexdigest()
    except OSError:
        return ""


def _manifest(source: Path) -> BackupManifest:
    try:
        found = BackupManifest(**json.loads((source / MANIFEST).read_text(encoding="utf-8")))
        inside = all((source / name).resolve().is_relative_to(source.resolve()) for name in found.files)
    except (OSError, ValueError, TypeError, AttributeError):
        inside = False
    if not inside:
        raise Mistake(f"{str(source)!r} is no backup of a site.", suggestions=["Make one: confide backup SITE TO"])
    return found


def _must_be_outside(path: Path, folder: Path) -> None:
    if path.resolve().is_relative_to(folder.resolve()):
        raise Mistake(f"{str(path)!r} lies in {str(folder)!r}.", suggestions=["Choose a place elsewhere."])


@contextmanager
def _making(path: Path) -> Iterator[Path]:
    """A private folder to fill, which then takes the place of `path`, where nothing may be yet."""
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise Mistake(f"There is something at {str(path)!r} already.", suggestions=["Choose a place that is empty."])
    partial = path.with_name(path.name + ".partial")
    try:
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(mode=stat.S_IRWXU, parents=True)
        yield partial
        os.replace(partial, path)
    except OSError as error:
        raise Fault(
            f"{str(path)!r} could not be written ({error.strerror}).", suggestions=["Check that the disk has room."]
        ) from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)
