from .client import Answer as Answer
from .client import Site as Site
from .client import open as open
from .data.release_key import ReleaseKey as ReleaseKey
from .errors import Denied as Denied
from .errors import Fault as Fault
from .errors import Mistake as Mistake
from .errors import Refused as Refused
from .records.ingest import add as add
from .records.ingest import ingest as ingest

__version__: str
