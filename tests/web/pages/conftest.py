"""A browser without scripts: pages as strict readers see them, links that are followed, forms that are sent."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from threading import Thread
from time import sleep
from typing import Any
from urllib.parse import urlencode, urljoin

import httpx
import pytest
import uvicorn
from fastapi import FastAPI

VOID = {"meta", "link", "input", "img", "source", "br", "hr"}


class Page(HTMLParser):
    """A page: its texts, links, ids and forms. Every element is closed in order, every id stands once."""

    def __init__(self, response: Any) -> None:
        super().__init__()
        self.status, self.headers, self.html = response.status_code, response.headers, response.text
        self.address = str(response.url).partition("#")[0]
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.links: dict[str, str] = {}
        self.forms: list[list[dict[str, Any]]] = []
        self.texts: list[str] = []
        self._said: list[tuple[str, list[str]]] = []
        self._select: dict[str, Any] | None = None
        self.feed(response.text)
        self.close()
        assert self.open == []
        ids = [attributes["id"] for _, attributes in self.tags if "id" in attributes]
        assert len(set(ids)) == len(ids), "an id stands twice"
        self.ids = set(ids)

    def handle_starttag(self, tag, attrs):
        attributes = {name: value or "" for name, value in attrs}
        self.tags.append((tag, attributes))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "a":
            self._said.append((attributes.get("href", ""), []))
        if tag == "form":
            self.forms.append([{"action": attributes.get("action", "")}])
        if tag == "select":
            self._select = {"name": attributes["name"], "values": [], "chosen": None, "words": {}}
            self.forms[-1].append(self._select)
        if tag == "option" and self._select is not None:
            self._select["values"].append(attributes["value"])
            if "selected" in attributes:
                self._select["chosen"] = attributes["value"]
        if tag == "input" and self.forms and "name" in attributes:
            kind = attributes.get("type", "text")
            on = kind != "checkbox" or "checked" in attributes
            self.forms[-1].append(
                {"name": attributes["name"], "value": attributes.get("value", ""), "on": on, "kind": kind}
            )
        if tag == "button" and self.forms:
            self.forms[-1].append({"button": attributes.get("name", ""), "value": attributes.get("value", "")})

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag
        if tag == "a":
            address, words = self._said.pop()
            self.links[" ".join("".join(words).split())] = address
        if tag == "select":
            self._select = None

    def handle_data(self, data):
        self.texts.append(data)
        for _, words in self._said:
            words.append(data)
        if self._select is not None and self._select["values"] and data.strip():
            self._select["words"][self._select["values"][-1]] = data.strip()

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())

    @property
    def form(self) -> list[dict[str, Any]]:
        """The form that has a button called `do`."""
        return next(form for form in self.forms if any(part.get("button") == "do" for part in form))

    def choices(self, name: str) -> list[str]:
        """What a select offers, or the values of checkboxes."""
        boxes = [p["value"] for p in self.form if p.get("name") == name and p.get("kind") == "checkbox"]
        selects = [p["values"] for p in self.form if p.get("name") == name and "values" in p]
        return boxes or [value for values in selects for value in values if value]

    def chosen(self, name: str) -> list[str]:
        """What a field holds now."""
        return [value for key, value in self.fields() if key == name]

    def fields(self) -> list[tuple[str, str]]:
        """What the form would send."""
        found = []
        for part in self.form:
            if "values" in part:
                first = part["values"][0] if part["values"] else ""
                found.append((part["name"], part["chosen"] if part["chosen"] is not None else first))
            elif "name" in part and part["on"]:
                found.append((part["name"], part["value"]))
        return found

    def send(self, button: str, *, changed: dict[str, Any] | None = None) -> str:
        """The address that pressing a button leads to, after some fields were changed; None takes a field away."""
        values = [part["value"] for part in self.form if part.get("button") == "do"]
        assert button in values, (button, values)
        changed = changed or {}
        kept = [(key, value) for key, value in self.fields() if key not in changed]
        new = [
            (k, v)
            for k, given in changed.items()
            for v in (given if isinstance(given, list) else [given])
            if v is not None
        ]
        return f"{urljoin(self.address, self.form[0]['action'])}?{urlencode([*kept, *new, ('do', button)])}"


def wait_for(server: Any, address: str, **options: Any) -> httpx.Response:
    """The answer at an address, after redirects and, if it takes long, after the page of its job."""
    while True:
        answer: httpx.Response = server.get(address, follow_redirects=True, **options)
        if "refresh" not in answer.headers:
            return answer
        address = answer.url.raw_path.decode()
        sleep(0.3)


@pytest.fixture(scope="session", name="wait_for")
def _wait_for() -> Callable[..., httpx.Response]:
    return wait_for


@pytest.fixture(scope="session")
def look(server) -> Callable[..., Page]:
    """Open a page of the demo site."""

    def opened(address: str, **options: Any) -> Page:
        return Page(wait_for(server, address.removeprefix(server.url), **options))

    return opened


@pytest.fixture(scope="session")
def page() -> type[Page]:
    return Page


@pytest.fixture(scope="module")
def start_server(starting):
    """Start servers that end with the module."""
    running = []

    def begin(site):
        running.append(starting(site))
        return running[-1]

    yield begin
    for each in running:
        each.kill()


@pytest.fixture
def serving():
    """Serve an app of this process: for tests that need to set its state."""

    @contextmanager
    def served(app: FastAPI) -> Iterator[httpx.Client]:
        server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error", ws="none"))
        thread = Thread(target=server.run)
        thread.start()
        try:
            while not server.started:
                assert thread.is_alive()
                sleep(0.01)
            port = server.servers[0].sockets[0].getsockname()[1]
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=120) as client:
                yield client
        finally:
            server.should_exit = True
            thread.join()

    return served
