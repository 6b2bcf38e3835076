"""Whose policy a page of the custodian is about: the site's, or that of one of its data sets."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from confide.answering.service import Service
from confide.errors import Mistake
from confide.model.catalog.dataset import Dataset
from confide.model.policy import LONGEST_NAME, PRESETS, SITE, Policy
from confide.site.policies import Kept, base_of, kept, preset_name
from confide.site.policy_drafts import PolicyDraft

__all__ = ["Whose", "whose_policy"]


@dataclass(frozen=True)
class Whose:
    """The site, or a data set, with its policy in force, its draft and its history."""

    service: Service
    name: str | None

    @property
    def policy(self) -> Policy:
        """The policy in force."""
        return self.service.policy if self.name is None else self.service.policy_of(self.name)

    @property
    def follows(self) -> bool:
        """Whether a data set has no policy of its own."""
        return self.name is not None and self.service.follows(self.name)

    @property
    def words(self) -> str:
        """Whose it is, in words."""
        return "the site" if self.name is None else self.datasets[0].title

    @property
    def datasets(self) -> list[Dataset]:
        """The data sets that the policy says something of."""
        named = [] if self.name is None else [self.service.dataset(self.name)]
        return named or list(self.service.datasets.values())

    @property
    def draft(self) -> PolicyDraft | None:
        return self.service.drafts.read(name=self.name)

    @property
    def versions(self) -> list[Kept]:
        """What was in force, the oldest first; of a data set without a policy of its own, what was for the site."""
        return kept(self.service.papers, name=None if self.follows else self.name)

    @property
    def preset(self) -> str:
        """What the policy in force starts from."""
        return preset_name(self.service.papers, name=self.name)

    @property
    def presets(self) -> list[str]:
        """What a draft may start from, beside the policy in force."""
        site = [SITE] if self.name is not None and not self.follows else []
        return site + [name for name in PRESETS if name != "open"]

    @property
    def one_of_several(self) -> bool:
        """Whether there is another to choose: not on a site with one data set that follows it."""
        names = self.service.datasets
        return len(names) > 1 or not all(self.service.follows(name) for name in names)

    def others(self, path: str) -> list[tuple[str, str, bool]]:
        """What a page may be about, this one among it: words, address, and whether it is this one."""
        places = [Whose(self.service, name) for name in (None, *self.service.datasets)]
        listed = [(place.words if place.name else "The site", path + place.query(), place == self) for place in places]
        return listed if self.one_of_several else []

    def start(self, wanted: str) -> PolicyDraft:
        """Where a form begins: the draft there is, a preset, the site's policy, one that was in force, or the one that is.

        All but the first are one version on.
        """
        later = self.policy.version + 1
        if wanted in PRESETS or (wanted == SITE and self.name is not None):
            return PolicyDraft(replace(self._named(base_of(self.service.papers, wanted)), version=later), wanted)
        for each in self.versions:
            if wanted == str(each.number):
                return PolicyDraft(replace(self._named(each.policy), version=later), each.preset)
        found = None if wanted == "force" else self.draft
        return found or PolicyDraft(replace(self._named(self.policy), version=later), self.preset)

    def query(self, more: Mapping[str, str] | None = None) -> str:
        """What stands after the `?` of a page about it, with the `?`."""
        given = {**({} if self.name is None else {"dataset": self.name}), **(more or {})}
        return f"?{urlencode(given)}" if given else ""

    def _named(self, policy: Policy) -> Policy:
        """The policy, called after the data set if it is the site's: answers should tell the two apart."""
        if self.name is None or policy.name != self.service.policy.name:
            return policy
        return replace(policy, name=f"{policy.name} for {self.name}"[:LONGEST_NAME])


def whose_policy(service: Service, given: Mapping[str, str]) -> Whose:
    """Whose policy an address or a form means by `dataset`; the site's, if it means none."""
    name = given.get("dataset", "")
    if name and name not in service.datasets:
        mistake = Mistake(f"There is no data set called {name[:60]!r}.", suggestions=["Choose one of those listed."])
        mistake.http_status = 404
        raise mistake
    return Whose(service, name or None)
