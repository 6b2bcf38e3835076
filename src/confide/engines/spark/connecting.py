"""Connections to the cluster that `dataset.toml` names. What it leaves open Spark knows: spark-defaults.conf and so on."""

import warnings
from collections.abc import Mapping

from confide.engines.spark.driver import driver_address, reach
from confide.errors import Fault, Mistake

with warnings.catch_warnings():
    warnings.simplefilter("ignore", FutureWarning)  # of versions of pandas, of which nothing is used
    from pyspark.errors import PySparkException
    from pyspark.errors.exceptions.connect import PythonException
    from pyspark.sql.connect.client.retries import DefaultPolicy
    from pyspark.sql.connect.session import SparkSession

__all__ = ["PySparkException", "PythonException", "SparkSession", "address_of", "check", "connect"]

OLDEST = 4
"""The first version in which a sum that leaves 64 bits is an error."""

RETRIES = 4
"""How often something that failed on its way is sent again: for some five seconds, and not for ten minutes, as Spark would."""


def address_of(cluster: str) -> str:
    """Where Spark Connect is; for a master, a server is started if none runs."""
    return cluster if cluster.startswith("sc://") else driver_address(cluster)


def connect(address: str, settings: Mapping[str, str]) -> SparkSession:
    """A session of its own, by Spark Connect."""
    reach(address)
    session: SparkSession = SparkSession.builder.remote(address).create()
    session.client.set_retry_policies([DefaultPolicy(max_retries=RETRIES)])
    found = session.version
    if int(found.split(".")[0]) < OLDEST:
        session.stop()
        raise Fault(f"The cluster is Spark {found}.", suggestions=[f"Confide needs Spark {OLDEST} or newer."])
    for name, value in settings.items():
        session.conf.set(name, value)
    return session


def check(cluster: str) -> None:
    """That the description of the cluster can be read and holds no token."""
    if not cluster.startswith(("spark://", "sc://", "local")):
        hint = "Write it as spark://host:7077, as sc://host (Spark Connect), or as local[2]."
        raise Mistake("'cluster' in dataset.toml cannot be read.", suggestions=[hint])
    if "token=" in cluster:
        hint = "Put it into the environment, as SPARK_CONNECT_AUTHENTICATE_TOKEN."
        raise Mistake("'cluster' in dataset.toml holds a token.", suggestions=[hint])
