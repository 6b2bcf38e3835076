"""Which process of a site serves whom, where there are several.

Everybody has one of them, which alone knows their questions under way, their answers that are kept and their pace: so each is
known once, and nothing of it is passed between processes. A connection that another process took is handed over, with the
request that came on it.
"""

import socket
from dataclasses import dataclass
from zlib import crc32

from starlette.types import Scope

from confide.errors import Denied
from confide.site.access import PersonRole
from confide.web.authentication import Asker
from confide.web.serving.connections import Connection

__all__ = ["ALONE", "Homes", "client_of"]

_ANYWHERE = "/static/"
"""What is the same for everybody."""
_OF_MACHINES = "/login"
"""Where the failures of a machine are counted, whoever sits there."""


@dataclass(frozen=True)
class Homes:
    """The processes of a site, as the one numbered `here` sees them: through `doors`, connections are handed to each."""

    here: int
    doors: tuple[socket.socket, ...]

    async def sent_home(self, scope: Scope, asker: Asker) -> bool:
        """Whether a request was handed to the process of who sends it, which answers it."""
        connection: Connection | None = scope["state"].get("connection")
        if len(self.doors) < 2 or connection is None or scope["path"].startswith(_ANYWHERE):
            return False
        home = self.home(scope["path"], asker)
        return home != self.here and await connection.hand_over(self.doors[home])

    def home(self, path: str, asker: Asker) -> int:
        """The number of the process of who asks for a path. The first is the custodians', whose pages share their work."""
        if path == _OF_MACHINES or path.startswith(f"{_OF_MACHINES}/"):
            return self._number(f"machine {asker.machine}")
        if not isinstance(asker.person, Denied) and asker.person.role is PersonRole.CUSTODIAN:
            return 0
        return self._number(client_of(asker))

    def _number(self, client: str) -> int:
        return crc32(client.encode("utf-8", "surrogatepass")) % len(self.doors)


ALONE = Homes(0, ())
"""A site of one process."""


def client_of(asker: Asker) -> str:
    """Whose pace it is: the person's, or the machine's. An unknown token is not a new client, or guessing is free."""
    return f"machine {asker.machine}" if isinstance(asker.person, Denied) else f"person {asker.person.name}"
