"""What a site is between two loadings: its policies, its appearance and the roads of its data sets, opened and closed together."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from threading import Condition, Lock
from typing import Any

from confide.answering.analysis import Admitted, Analysis
from confide.answering.limits import AnswerLimits
from confide.answering.opening import named, open_roads, open_vintages
from confide.answering.projects import ProjectRoads
from confide.answering.road import Road
from confide.data.private import only_mine
from confide.errors import Mistake
from confide.model.policy import Policy
from confide.model.request import Request
from confide.site.access import Project
from confide.site.folder import Folder
from confide.site.looks.appearance import read_appearance
from confide.site.vintages import parse

__all__ = ["Opened", "gone"]


def gone() -> Mistake:
    """What is said to who waited so long that the data were loaded anew twice."""
    return Mistake("The data were loaded anew since this was asked.", suggestions=["Ask again."])


class Opened:
    """The policies, appearance and data of a site as they were when it was opened or loaded anew. Safe to share among threads."""

    def __init__(self, folder: Folder, *, allow_open: bool, analyses: Sequence[Analysis[Any, Any, Any]]) -> None:
        self.policy: Policy = folder.policy()
        self.appearance = read_appearance(folder.path)
        self.followers = {name for name in folder.names() if folder.follows(name)}
        with only_mine(), ExitStack() as opened:
            roads = opened.enter_context(open_roads(folder, allow_open=allow_open, analyses=analyses))
            self.roads: Mapping[str, Road] = roads
            self.older: Mapping[str, Road] = opened.enter_context(open_vintages(folder, roads))
            self.newest = {f"{name}@{known[-1].name}": name for name in roads if (known := folder.vintages(name))}
            self._opened = opened.pop_all()
        self._in_projects = ProjectRoads(folder)
        self.limiting, self.limits = Lock(), dict[tuple[str, Policy], AnswerLimits]()
        self._busy, self._closed, self._free = 0, False, Condition()

    def road(self, name: str, project: Project | None = None) -> Road:
        """The road of a data set, or of a vintage of it, for who asks in a project; a Mistake if there is none of that name."""
        road = self.older[name] if name in self.older else named(self.roads, self.newest.get(name, name))
        return road if project is None else self._in_projects.road(road, project)

    def __contains__(self, name: str) -> bool:
        """Whether there is such a data set, or such a vintage of one."""
        return name in self.older or self.newest.get(name, name) in self.roads

    def vintages(self, name: str) -> list[str]:
        """The names of the vintages of a data set that one may ask about, the newest first, if there is more than it."""
        older = [each for each in self.older if parse(each)[0] == parse(name)[0]]
        newest = [each for each, of in self.newest.items() if of == parse(name)[0]]
        return [*newest, *reversed(older)] if older else []

    def admitted(self, question: Admitted[Request[Any]]) -> bool:
        """Whether a question was admitted here."""
        name = question.request.dataset
        known = self.older.get(name) or self.roads.get(name)
        return known is not None and known.dataset is question.dataset.declared

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Within this, nothing is closed."""
        with self._free:
            if self._closed:
                raise gone()
            self._busy += 1
        try:
            yield
        finally:
            with self._free:
                self._busy -= 1
                self._free.notify_all()

    def close(self) -> None:
        """Close all, when the questions under way are answered."""
        with self._free:
            self._free.wait_for(lambda: not self._busy)
            self._closed = True
        self._opened.close()
