"""One attack from beginning to end, and what the frame says of it."""

from confide.attacks.counts.universes.secret_in_universe import SecretInUniverse
from confide.attacks.runner import Settings, carry_out


def test_the_same_seed_gives_the_same_result(field) -> None:
    settings = Settings(targets=40, questions=60)
    first, second = (carry_out(SecretInUniverse(), field("drop-q", rows=5_000), settings) for _ in range(2))
    assert first.as_dict() | {"seconds": 0} == second.as_dict() | {"seconds": 0}


def test_the_secret_in_the_universe_is_read_where_cells_are_keyed_alone(field) -> None:
    result = carry_out(SecretInUniverse(), field("tablebuilder"), Settings(targets=100, questions=250))
    assert result.success > 0.9
    assert result.guess < 0.6
    assert result.lift > 0.3
