"""Workers that can train together: each has rankforce, and the same versions as the client."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from rankforce.common.errors import RankforceError

LIBRARIES = ("rankforce", "lightgbm", "numpy")


class Worker(NamedTuple):
    """A worker of a cluster."""

    address: str
    id: str  # another one after a restart, though the address may be the same
    host: str
    threads: int
    folder: str  # for files of its own


def find_workers(client: Any) -> list[Worker]:
    """All workers of a cluster, in order of their addresses, if they can train together."""
    probe = _make_probe(LIBRARIES)
    found: dict[str, Any] = client.run(probe, on_error="return")
    if not found:
        raise RankforceError(
            f"the cluster at {client.scheduler.address} has no workers: start some, as in "
            f"'dask worker {client.scheduler.address}'"
        )
    own = probe(None)
    for address, facts in sorted(found.items()):
        if isinstance(facts, BaseException):
            raise RankforceError(f"worker {address} does not answer: {facts}")
        check_versions(address, facts["versions"], own["versions"])
    return [
        Worker(address, facts["id"], host_of(address), facts["threads"], facts["folder"])
        for address, facts in sorted(found.items())
    ]


def check_versions(
    address: str, found: Mapping[str, str | None], own: Mapping[str, str | None]
) -> None:
    """Refuse a worker that lacks rankforce, or has another version of what decides a model.

    >>> check_versions("tcp://a:1", {"numpy": "1.26.4"}, {"numpy": "2.4.0"})
    Traceback (most recent call last):
    rankforce.RankforceError: worker tcp://a:1 has numpy 1.26.4, the client has 2.4.0: install ...
    """
    for library, version in own.items():
        other = found.get(library)
        if other is None:
            raise RankforceError(
                f"worker {address} has no {library}: install {library} {version} there, as at the "
                "client"
            )
        if other != version:
            raise RankforceError(
                f"worker {address} has {library} {other}, the client has {version}: install the "
                "same version at both"
            )


def host_of(address: str) -> str:
    """The host of a worker's address, under which others reach it too.

    >>> host_of("tcp://10.0.0.7:4242"), host_of("inproc://192.0.2.2/27884/4")
    ('10.0.0.7', '127.0.0.1')
    """
    scheme, _, rest = address.partition("://")
    if scheme == "inproc":
        return "127.0.0.1"
    host = rest.rpartition(":")[0]
    if "[" in host:
        raise RankforceError(
            f"worker {address} has an address of IPv6, which LightGBM does not take: start workers "
            "with --host and an address of IPv4, or a name"
        )
    return host


def _make_probe(libraries: tuple[str, ...]) -> Callable[[Any], dict[str, Any]]:
    """A function that tells what a process has.

    It is made here so that it travels as code: a worker may have no rankforce to find it in.
    """

    def probe(dask_worker: Any) -> dict[str, Any]:
        import importlib.metadata
        import importlib.util
        import platform

        def version(name: str) -> str | None:
            try:
                is_there = importlib.util.find_spec(name) is not None
                return importlib.metadata.version(name) if is_there else None
            except ImportError:
                return None

        versions = {name: version(name) for name in libraries}
        versions["Python"] = ".".join(platform.python_version_tuple()[:2])
        return {
            "versions": versions,
            "id": getattr(dask_worker, "id", ""),
            "threads": dask_worker.state.nthreads if dask_worker else 1,
            "folder": getattr(dask_worker, "local_directory", ""),
        }

    return probe
