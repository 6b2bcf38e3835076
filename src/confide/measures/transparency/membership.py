"""L7: records that a synthetic file was made from lie nearer to it than others."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from confide.data.kdtree.static import build, distinct_rows, nearest
from confide.measures.pairs import unpaired
from confide.measures.space import Scaling, Space
from confide.measures.transparency.attack import FileAttack
from confide.measures.transparency.claims import MemberClaims
from confide.measures.transparency.knowledge import Knowledge

__all__ = ["SyntheticMembership"]


@dataclass(frozen=True)
class SyntheticMembership(FileAttack):
    """Membership by distance to the closest record (Platzer and Reutterer 2021): the nearer half was in the file.

    Knows whole records of candidates, and that half of them are members. Tried on 2,000 generated people
    and a file synthesised from half of them: exact matches, which 19 percent of members and 15 of the others have; the
    distance in units of that to the nearest other candidate, 58.2 percent right; the plain distance, 57.6.
    """

    name: ClassVar = "membership"
    code: ClassVar = "L7"
    words: ClassVar = "Says of the candidates nearest to the released records that the file was made from theirs."
    of_members: ClassVar = True
    seeks_record: ClassVar = False

    scaling: Scaling = "standardised"

    def attack(self, released: pa.Table, known: Knowledge) -> MemberClaims:
        space = Space.of(unpaired(released, known.targets, known.keys), self.scaling)
        points = space.original[distinct_rows(space.original)[0]]
        far = nearest(space.released, build(points, space.nominal))
        order = np.lexsort((known.rng().random(len(far)), far))
        member = np.zeros(len(far), np.bool_)
        member[order[: len(far) // 2]] = True
        return MemberClaims(member, -far)
