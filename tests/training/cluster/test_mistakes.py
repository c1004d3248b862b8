"""What a user of a cluster may do wrong: one sentence each, before anything starts."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sklearn.base import clone

import rankforce as rf
from tests.training.cluster.small import FEATURES, SETTINGS, as_data, make_frame, write_folder

pytestmark = pytest.mark.slow  # CI runs it

dd = pytest.importorskip("dask.dataframe")
da = pytest.importorskip("dask.array")

FRAME = make_frame(20, seed=1)


def fit(client: Any, *given: Any, **more: Any) -> rf.Ranker:
    return rf.Ranker(**SETTINGS, cluster=client).fit(*given, **more)


@pytest.mark.parametrize(
    ("given", "more", "words"),
    [
        (dd.from_pandas(FRAME[["qid", *FEATURES]], 2), {}, "no column for the label"),
        (dd.from_pandas(FRAME[["label", *FEATURES]], 2), {}, "no column for the qid"),
        (dd.from_pandas(FRAME, 2), {"group": [3]}, "group does not go with Dask collections"),
        (dd.from_pandas(FRAME, 2), {"y": FRAME["label"]}, "y is a Series, but the features are a"),
        (da.ones((9, 2, 2)), {}, r"X is a Dask array of shape \(9, 2, 2\)"),
        ("no/such/folder", {}, "no/such/folder"),
        ("no/such/folder", {"y": [1]}, "y does not go with the folder"),
        (as_data(FRAME), {"callbacks": [print]}, "callbacks does not go with a cluster"),
    ],
)
def test_data_that_cannot_be_used(client: Any, given: Any, more: Any, words: str) -> None:
    with pytest.raises(rf.RankforceError, match=words):
        fit(client, given, **more)


def test_blocks_that_do_not_go_together(client: Any) -> None:
    frame = dd.from_pandas(FRAME, 2)
    other = dd.from_pandas(FRAME, 3)
    with pytest.raises(rf.RankforceError, match="y has 3 blocks, the features have 2"):
        fit(client, frame[FEATURES], other["label"], qid=frame["qid"])


@pytest.mark.slow
def test_a_query_in_two_files(client: Any, tmp_path: Path) -> None:
    folder = write_folder(FRAME, tmp_path / "train", 2)
    FRAME[FRAME["qid"] == 0].to_parquet(folder / "part-2.parquet", index=False)
    with pytest.raises(rf.RankforceError, match=r"worker tcp://.*quer"):
        fit(client, folder)


def test_a_file_that_is_cut_short(client: Any, tmp_path: Path) -> None:
    folder = write_folder(FRAME, tmp_path / "train", 2)
    content = (folder / "part-1.parquet").read_bytes()
    (folder / "part-1.parquet").write_bytes(content[:-100])
    with pytest.raises(rf.RankforceError, match=r"worker tcp://.*part-1\.parquet"):
        fit(client, folder)


def test_a_committee_stays_on_one_machine(client: Any) -> None:
    with pytest.raises(rf.RankforceError, match="members=2 does not go with a cluster"):
        rf.Ranker(**SETTINGS, members=2, cluster=client).fit(as_data(FRAME))
    with pytest.raises(rf.RankforceError, match="cluster is a setting of trees"):
        rf.Ranker(model="linear", cluster=client).settings()


@pytest.mark.parametrize(
    ("cluster", "words"),
    [
        (7, "cluster is 7: give a distributed.Client, an address"),
        ("tcp://127.0.0.1:9", "cluster is 'tcp://127.0.0.1:9', where no scheduler answers"),
    ],
)
def test_no_cluster(cluster: Any, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rankforce.training.cluster.library.ANSWER_S", 1)
    with pytest.raises(rf.RankforceError, match=words):
        fit(cluster, as_data(FRAME))


@pytest.fixture
def other_lightgbm(client: Any) -> Iterator[None]:
    """Workers with another version of LightGBM."""

    def change(version: str | None, dask_worker: Any) -> None:
        usual = getattr(dask_worker, "usual_version", importlib.metadata.version)
        dask_worker.usual_version = usual

        def found(name: str) -> str:
            return version if name == "lightgbm" and version else str(usual(name))

        importlib.metadata.version = found

    client.run(change, "3.3.5")
    yield
    client.run(change, None)


def test_another_version(client: Any, other_lightgbm: None) -> None:
    own = importlib.metadata.version("lightgbm")
    words = rf"worker tcp://\S+ has lightgbm 3\.3\.5, the client has {own}: install the same"
    with pytest.raises(rf.RankforceError, match=words):
        fit(client, as_data(FRAME))


HIDDEN = """
import sys

class Hides:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "rankforce":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hides())
"""


def test_a_worker_without_rankforce(tmp_path: Path) -> None:
    """A process in which rankforce cannot be imported, as on a machine that lacks it."""
    distributed = pytest.importorskip("distributed")
    (tmp_path / "sitecustomize.py").write_text(HIDDEN)
    with distributed.LocalCluster(n_workers=0, dashboard_address=":0") as cluster:
        command = [sys.executable, "-m", "dask", "worker", cluster.scheduler_address]
        command += ["--no-nanny", "--no-dashboard", "--nthreads", "1"]
        command += ["--local-directory", str(tmp_path)]
        path = {"PYTHONPATH": str(tmp_path)}
        worker = subprocess.Popen(command, env=path, stderr=subprocess.DEVNULL)
        try:
            with distributed.Client(cluster) as client:
                with pytest.raises(rf.RankforceError, match="has no workers: start some"):
                    fit(client, as_data(FRAME)) if not client.scheduler_info()["workers"] else None
                client.wait_for_workers(1, timeout=60)
                with pytest.raises(rf.RankforceError, match=r"worker tcp://\S+ has no rankforce"):
                    fit(client, as_data(FRAME))
        finally:
            worker.kill()
            worker.wait()


def test_manners_of_scikit_learn(client: Any) -> None:
    ranker = rf.Ranker(**SETTINGS, cluster=client)
    assert clone(ranker).get_params()["cluster"] is client
    assert "cluster" not in rf.Ranker().settings().engine_parameters()
    assert pickle.loads(pickle.dumps(ranker)).cluster is None
    assert pickle.loads(pickle.dumps(rf.Ranker(cluster="tcp://a:1"))).cluster == "tcp://a:1"


def test_dask_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("dask.dataframe", "distributed"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(rf.RankforceError, match=r"a cluster needs Dask: pip install 'rankforce\["):
        fit("tcp://127.0.0.1:9", as_data(FRAME))
