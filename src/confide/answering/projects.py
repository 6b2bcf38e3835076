"""The policy of a project: other limits on the same protected numbers."""

from threading import Lock

from confide.answering.road import Road
from confide.answering.trials import same_numbers
from confide.errors import Fault, Mistake
from confide.model.policy import Policy
from confide.site.access import Project
from confide.site.folder import Papers

__all__ = ["ProjectRoads", "project_policy"]


def project_policy(papers: Papers, project: str, dataset: Policy, text: str) -> Policy:
    """What a text says as the policy of a project, on top of that of a data set.

    Promise: it moves limits only. Numbers are protected as the data set's policy says, so that two projects that ask the same
    are told the same, and comparing what they are told tells nothing.
    """
    policy = papers.read_own(text, project, site=dataset, file=papers.project(project))
    if policy.audit != dataset.audit:
        raise Mistake(
            f"The policy of the project {project!r} has another limit of the audit than {dataset.title}.",
            suggestions=["Leave out [audit]: what the questions of everybody isolate is counted together."],
        )
    if not same_numbers(policy, dataset):
        raise Mistake(
            f"The policy of the project {project!r} protects numbers otherwise than {dataset.title}.",
            suggestions=[
                'Begin it with preset = "site", and leave out [records], [drop], [counts], [totals] and noise.'
            ],
        )
    return policy


class ProjectRoads:
    """The roads of a site, under the policies of the projects that have their own. Safe to share among threads."""

    def __init__(self, papers: Papers) -> None:
        self._papers, self._lock = papers, Lock()
        self._made: dict[tuple[str, str], tuple[str, Road]] = {}

    def road(self, road: Road, project: Project) -> Road:
        """The road of a data set for who asks in a project; a policy that is lost or spoilt lets nobody ask."""
        if not project.policy:
            return road
        place = project.name, road.dataset.name
        try:
            text = self._papers.project(project.name).read_text(encoding="utf-8")
            with self._lock:
                made = self._made.get(place)
                if made is None or made[0] != text:
                    made = text, road.under(project_policy(self._papers, project.name, road.policy, text))
                    self._made[place] = made
            return made[1]
        except (OSError, UnicodeDecodeError, Mistake) as error:
            raise Fault(f"The policy of the project {project.name!r} cannot be used ({error}).") from None
