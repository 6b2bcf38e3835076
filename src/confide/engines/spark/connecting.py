"""Connections to the cluster that `dataset.toml` names. What it leaves open Spark knows: spark-defaults.conf and so on."""

import warnings
from collections.abc import Mapping
from urllib.parse import urlsplit

from confide.engines.spark.driver import driver_address, reachable
from confide.errors import Fault, Mistake

with warnings.catch_warnings():
    warnings.simplefilter("ignore", FutureWarning)  # of versions of pandas, of which nothing is used
    from pyspark.errors import PySparkException
    from pyspark.errors.exceptions.connect import PythonException
    from pyspark.sql.connect.client.retries import DefaultPolicy
    from pyspark.sql.connect.session import SparkSession

__all__ = ["PySparkException", "PythonException", "SparkSession", "connect"]

OLDEST = 4
"""The first version in which a sum that leaves 64 bits is an error."""

RETRIES = 5
"""How often something that failed on its way is sent again: for some ten seconds, and not for ten minutes, as Spark would."""

_PORTS = {"sc": 15002, "spark": 7077}


def connect(cluster: str, settings: Mapping[str, str]) -> SparkSession:
    """A session of its own, by Spark Connect; for a master, with a server that is started for it."""
    _check(cluster)
    address = cluster if cluster.startswith("sc://") else driver_address(cluster)
    session: SparkSession = SparkSession.builder.remote(address).create()
    session.client.set_retry_policies([DefaultPolicy(max_retries=RETRIES)])
    found = session.version
    if int(found.split(".")[0]) < OLDEST:
        session.stop()
        raise Fault(f"The cluster is Spark {found}.", suggestions=[f"Confide needs Spark {OLDEST} or newer."])
    for name, value in settings.items():
        session.conf.set(name, value)
    return session


def _check(cluster: str) -> None:
    """That the description of the cluster can be read and holds no token, and that somebody listens there."""
    scheme, _, rest = cluster.partition("://")
    if scheme not in _PORTS and not cluster.startswith("local"):
        hint = "Write it as spark://host:7077, as sc://host (Spark Connect), or as local[2]."
        raise Mistake("'cluster' in dataset.toml cannot be read.", suggestions=[hint])
    if "token=" in cluster:
        hint = "Put it into the environment, as SPARK_CONNECT_AUTHENTICATE_TOKEN."
        raise Mistake("'cluster' in dataset.toml holds a token.", suggestions=[hint])
    hosts = [urlsplit(f"//{host}") for host in rest.split(";")[0].strip("/").split(",") if host]
    if hosts and not any(reachable(host.hostname or "", host.port or _PORTS[scheme]) for host in hosts):
        hint = "Check that it runs, and what 'cluster' in dataset.toml says."
        raise Fault("The cluster cannot be reached.", suggestions=[hint])
