from .files.trying import attack_file as attack_file
from .published.trying import attack_table as attack_table
from .red_team import RedTeam as RedTeam
from .red_team import attack_site as attack_site
from .report import AttackReport as AttackReport
from .result import Result as Result
