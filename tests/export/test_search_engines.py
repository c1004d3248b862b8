"""Models in search engines: what their parsers take, and what their trees would score."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import rankforce as rf
from rankforce.common.errors import RankforceError
from rankforce.models.export.features import FeatureMap, make_features, read_features
from rankforce.models.export.linear import linear_terms
from rankforce.models.export.plain import constant_tree, find_shift, least_score, plain_trees
from rankforce.models.export.registry import Exported, export
from rankforce.models.export.solr import SLACK, find_written
from rankforce.models.forest.forest import Forest
from rankforce.models.model import Model
from tests.export import cases
from tests.export.evaluators import elasticsearch, elasticsearch_ltr, opensearch_ltr, solr, vespa

ENGINES = ("elasticsearch-ltr", "opensearch-ltr", "elasticsearch", "solr", "vespa")
SAYABLE = [name for name in cases.FORESTS if name not in ("categorical", "zero as missing")]
# Without a way for missing values a model that takes them for 0 is still the same.
NO_NAN = ["plain", "committee", "constants", "one leaf"]
# Sums in float32: so much of the largest score may be lost in 100 trees.
CLOSE = 1e-6


def with_queries(model: Any) -> FeatureMap:
    """A map that gives each feature the query of a script."""
    entries = {
        name: {"name": f"es_{name}", "query": {"match": {name: "{{keywords}}"}}}
        for name in model.feature_names
    }
    return FeatureMap(entries)


def exported(case: cases.Case, to: str) -> Exported:
    """The model in the form of an engine, under the names of the model where it takes such."""
    return export(case.model, to, with_queries(case.model) if to == "elasticsearch" else None)


def columns_of(case: cases.Case, rows: Any = None, start: str = "") -> dict[str, Any]:
    given = case.rows if rows is None else rows
    return {f"{start}{name}": given[:, n] for n, name in enumerate(case.model.feature_names)}


def scores(case: cases.Case, to: str, made: Exported, rows: Any = None) -> NDArray[Any]:
    """What an engine scores."""
    columns = columns_of(case, rows, "es_" if to == "elasticsearch" else "")
    stored = list(columns)
    known: dict[str, Callable[[], NDArray[Any]]] = {
        "elasticsearch-ltr": lambda: elasticsearch_ltr.score(
            made.content, columns, missing="node", stored=stored
        ),
        "opensearch-ltr": lambda: opensearch_ltr.score(made.content, columns, stored=stored),
        "elasticsearch": lambda: elasticsearch.score(made.content, columns),
        "solr": lambda: solr.score(made.content, columns),
        "vespa": lambda: vespa.score(made.content, columns),
    }
    return known[to]()


def lift_of(case: cases.Case, to: str) -> float:
    """How much higher scores are in an engine that has none below 0."""
    least = least_score(plain_trees(case.model, to))
    lifts = {"elasticsearch": -min(least, 0.0), "solr": 0.0, "vespa": 0.0}
    return lifts.get(to, find_shift(least))


def check(case: cases.Case, to: str, got: NDArray[Any]) -> None:
    """The engine's scores are the model's but for the lift, and in the same order."""
    lift = lift_of(case, to)
    assert to in ("solr", "vespa") or got.min() >= 0.0
    size = np.abs(case.expected + lift).max()
    cases.agrees(case.expected + lift, got, within=CLOSE * max(size, 1.0))


@pytest.mark.parametrize("to", ENGINES)
@pytest.mark.parametrize("name", SAYABLE)
def test_engines_score_as_the_model(name: str, to: str) -> None:
    case = cases.make_case(name)
    check(case, to, scores(case, to, exported(case, to)))


def test_vespa_scores_in_double_to_the_last_digits() -> None:
    case = cases.make_case("missing")
    got = vespa.score(exported(case, "vespa").content, columns_of(case))
    assert cases.agrees(case.expected, got, within=1e-13) < 1e-13


def test_a_forest_that_vespa_compiles_goes_the_same_ways_in_float32() -> None:
    case = cases.make_case("edges")
    got = vespa.score(exported(case, "vespa").content, columns_of(case), np.float32)
    cases.agrees(case.expected, got, within=1e-5)


@pytest.mark.parametrize("name", NO_NAN)
def test_a_model_without_missing_values_is_the_same_in_old_plugins(name: str) -> None:
    case = cases.make_case(name)
    made = exported(case, "elasticsearch-ltr")
    columns = columns_of(case)
    got = elasticsearch_ltr.score(made.content, columns, missing="zero", stored=list(columns))
    check(case, "elasticsearch-ltr", got)
    assert not any("node " in line for line in made.told)


def test_what_old_plugins_make_of_missing_values_is_told() -> None:
    case = cases.make_case("missing")
    made = exported(case, "opensearch-ltr")
    columns = columns_of(case)
    lift = lift_of(case, "opensearch-ltr")
    for version in ("3.1", "3.3"):
        got = opensearch_ltr.score(made.content, columns, version=version, stored=list(columns))
        assert np.abs(got - lift - case.expected).max() > 0.01
    assert any(line.startswith("node ") and "another way than 0" in line for line in made.told)
    assert any("#379" in line for line in exported(cases.make_case("plain"), "opensearch-ltr").told)


@pytest.mark.parametrize("to", ENGINES)
def test_what_an_engine_cannot_say_is_refused_by_tree_and_node(to: str) -> None:
    for name, what in (("categorical", "asks for categories"), ("zero as missing", "takes zeros")):
        with pytest.raises(RankforceError) as told:
            exported(cases.make_case(name), to)
        text = str(told.value)
        parts = (repr(to), what, "'onnx'", "node ", " of tree ", "(feature '")
        assert [part for part in parts if part not in text] == []


def test_zeros_that_go_with_their_neighbours_can_be_said() -> None:
    zero, left = 1 << 2, 1 << 1
    trees = [
        cases.stump(0, 1.5, zero | left, (1.0, 2.0)),
        cases.stump(1, -1.5, zero, (3.0, 5.0)),
        cases.stump(2, 0.0, zero | left, (7.0, 11.0)),
        cases.stump(3, -1e-36, zero, (13.0, 17.0)),
        cases.stump(4, 1e-35, zero | left, (19.0, 23.0)),
    ]
    ranker = cases.from_trees(trees)
    rows = cases.make_rows(ranker.model_)
    case = cases.Case("zeros", ranker, rows, ranker.predict(rows))
    for to in ENGINES:
        check(case, to, scores(case, to, exported(case, to)))


def test_models_that_need_more_than_a_file_are_refused() -> None:
    features, labels, group, _ = cases.train_set()
    small = {"n_estimators": 2, "num_leaves": 3, "threads": 1, "progress": False}
    odd = rf.Ranker(missing=-1, **small).fit(features, labels, group=group)
    base = rf.Ranker(model="linear", epochs=1, progress=False).fit(features, labels, group=group)
    on_top = rf.Ranker(base=base, **small).fit(features, labels, group=group)
    for to in ENGINES:
        with pytest.raises(RankforceError, match="missing=-1"):
            export(odd.model_, to)
        with pytest.raises(RankforceError, match="base"):
            export(on_top.model_, to)


def test_vespa_takes_categories_that_are_texts() -> None:
    features, labels, group, names = cases.train_set()
    frame = pd.DataFrame(features, columns=names)
    kinds = np.array([f"kind {code}" for code in range(cases.CODES)])
    frame.insert(3, "kind", pd.Categorical(kinds[features[:, 0].astype(int)]))
    few = {"min_data_per_group": 5, "cat_smooth": 1.0, "min_child_samples": 5}
    more = {"n_estimators": 20, "seed": 1, "threads": 1, "progress": False}
    ranker = rf.Ranker(**few, **more).fit(frame, labels, group=group)
    made = export(ranker.model_, "vespa")
    assert len(json.loads(made.content)["pandas_categorical"]) == 1
    some = frame[: len(frame) // cases.LIST * cases.LIST].copy()
    some["kind"] = some["kind"].cat.add_categories("strange")
    some.loc[::7, "kind"] = "strange"
    some.loc[::11, "kind"] = None
    columns = {name: some[name].to_numpy() for name in some.columns if name != "kind"}
    columns["kind"] = some["kind"].astype(object).fillna("").to_numpy()
    got = vespa.score(made.content, columns)
    assert cases.agrees(ranker.predict(some), got, within=1e-13) < 1e-13
    with pytest.raises(RankforceError, match=r"\(feature 'kind'\) asks for categories"):
        export(ranker.model_, "solr")


# Linear networks


def linear_case(scaling: str) -> cases.Case:
    """A linear network on tame features, some of them missing, and rows within their ranges."""
    plain, labels, group, names = cases.train_set()
    tame = np.minimum(np.log1p(np.abs(plain)), 5.0).astype(np.float32)
    given = cases.with_holes(tame)
    more = {"epochs": 2, "seed": 1, "threads": 1, "progress": False}
    ranker = rf.Ranker(model="linear", scaling=scaling, **more)
    ranker.fit(given, labels, group=group, feature_name=names)
    rows = np.resize(given, (cases.ROWS, given.shape[1]))
    return cases.Case(scaling, ranker, rows, ranker.predict(rows))


@pytest.mark.parametrize("to", ["elasticsearch-ltr", "opensearch-ltr", "solr"])
@pytest.mark.parametrize("scaling", ["standard", "none"])
def test_linear_networks_are_weights_and_norms(scaling: str, to: str) -> None:
    case = linear_case(scaling)
    terms = linear_terms(case.model, to)
    rows = case.rows.copy()
    for term in terms:  # as the lines that are told ask for
        own = rows[:, term.column]
        own[np.isnan(own)] = term.missing
    made = exported(case, to)
    got = np.asarray(scores(case, to, made, rows), np.float64)
    constant = np.median(got - case.expected)
    assert abs(constant) < 1e-5
    cases.agrees(case.expected, got, within=2e-5)
    assert any("a missing value must come as" in line for line in made.told)
    assert (b"standard" in made.content or b"StandardNormalizer" in made.content) == (
        scaling == "standard"
    )


def test_linear_networks_that_are_no_lines_are_refused() -> None:
    for name, to in (("linear", "solr"), ("linear", "elasticsearch-ltr")):
        with pytest.raises(RankforceError, match=r"scaled by 'both'.*scaling='standard'"):
            exported(cases.make_case(name), to)
    plain, labels, group, names = cases.train_set()
    spiky = plain.copy()
    spiky[0, 3] = 1e9
    ranker = rf.Ranker(model="linear", scaling="standard", epochs=1, progress=False)
    ranker.fit(spiky, labels, group=group, feature_name=names)
    with pytest.raises(RankforceError, match="8 standard deviations"):
        export(ranker.model_, "solr")
    with pytest.raises(RankforceError, match="vespa"):
        exported(cases.make_case("linear"), "vespa")


# Uploads


def two_features(to: str) -> Exported:
    """A model of two stumps with definitions of an engine, under the names of a map."""
    whole: dict[str, Any] = {
        "elasticsearch-ltr": {
            "params": ["keywords"],
            "template": {"match": {"title": "{{keywords}}"}},
        },
        "elasticsearch": {"query": {"match": {"title": "{{keywords}}"}}, "default_score": 0},
        "solr": {
            "class": "org.apache.solr.ltr.feature.FieldValueFeature",
            "params": {"field": "it's"},
        },
    }
    ranker = cases.from_trees(
        [cases.stump(0, 0.5, 8, (-1.0, 2.0)), cases.stump(2, 0.25, 10, (0.0, 0.5))]
    )
    names = ranker.model_.feature_names
    own = whole["elasticsearch-ltr" if to == "opensearch-ltr" else to]
    entries = {names[0]: own | {"name": "title"}, names[2]: own | {"name": "body"}}
    record = {"model": "best", "feature_set": "mine", "features": entries}
    return export(ranker.model_, to, make_features(record))


@pytest.mark.parametrize("to", ["elasticsearch-ltr", "opensearch-ltr"])
def test_the_plugin_gets_its_features_with_the_model(to: str) -> None:
    made = two_features(to)
    body = json.loads(made.content)["model"]
    assert body["name"] == "best"
    assert body["feature_set"]["name"] == "mine"
    assert [one["name"] for one in body["feature_set"]["features"]] == ["title", "body"]
    assert "-X PUT 'http://localhost:9200/_ltr/_model/best'" in made.told[0]
    x = np.array([0.5, 0.6, np.nan], np.float32)
    got = elasticsearch_ltr.score(made.content, {"title": x, "body": x}, missing="node")
    shift = find_shift(-1.0)
    assert got.tolist() == [-1.0 + 0.5 + shift, 2.0 + 0.5 + shift, 2.0 + 0.0 + shift]
    definition = json.loads(body["model"]["definition"])
    assert definition[0] == {
        "nodeid": 0,
        "depth": 0,
        "split": "title",
        "split_condition": float(np.nextafter(np.float32(0.5), np.float32(1))),
        "yes": 1,
        "no": 2,
        "missing": 2,
        "children": [{"nodeid": 1, "leaf": -1.0}, {"nodeid": 2, "leaf": 2.0}],
    }


def test_without_definitions_the_plugin_is_pointed_at_its_own_feature_set() -> None:
    made = exported(cases.make_case("constants"), "elasticsearch-ltr")
    assert "feature_set" not in json.loads(made.content)["model"]
    assert "_ltr/_featureset/rankforce_features/_createmodel" in made.told[0]
    assert made.told[1].startswith("the feature set 'rankforce_features' must be there")


def test_solr_gets_features_that_are_missing_as_nan() -> None:
    made = two_features("solr")
    assert made.told[0].startswith("curl -X PUT 'http://localhost:8983/solr/COLLECTION/schema/feat")
    sent = json.loads(made.told[0].split("--data-binary '")[1].removesuffix("'"))
    assert sent[0]["params"] == {"defaultValue": "NaN", "field": "it's"}
    assert sent[0]["store"] == json.loads(made.content)["store"] == "mine"
    assert "model-store" in made.told[1]


def test_elasticsearch_needs_the_query_of_each_feature() -> None:
    made = two_features("elasticsearch")
    found = elasticsearch.extractors(made.content)
    assert found["body"]["query"] == {"match": {"title": "{{keywords}}"}}
    assert found["body"]["default_score"] == 0
    with pytest.raises(RankforceError, match="needs the query that makes each feature"):
        export(cases.make_case("plain").model, "elasticsearch")


def eland_serializer() -> Any:
    """eland's own writer of ensembles, without the rest of eland, which needs a client."""
    whole = importlib.util.find_spec("eland")
    if whole is None or not whole.submodule_search_locations:
        pytest.skip("eland is not installed")
    place = Path(whole.submodule_search_locations[0]) / "ml" / "_model_serializer.py"
    spec = importlib.util.spec_from_file_location("eland_serializer", place)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_elasticsearch_gets_what_eland_would_write() -> None:
    eland = eland_serializer()
    made = exported(cases.make_case("missing"), "elasticsearch")
    ensemble = elasticsearch.definition(made.content)
    names = ensemble["feature_names"]
    trees = []
    for record in ensemble["trained_models"]:
        nodes = [
            eland.TreeNode(
                node_idx=node["node_index"],
                leaf_value=[node["leaf_value"]] if "leaf_value" in node else None,
                **{k: v for k, v in node.items() if k not in ("node_index", "leaf_value")},
            )
            for node in record["tree"]["tree_structure"]
        ]
        trees.append(eland.Tree(names, "regression", nodes))
    whole = eland.Ensemble(names, trees, {"weighted_sum": {}}, "regression")
    assert whole.to_dict()["ensemble"] == ensemble
    assert whole.bounds()[0] == pytest.approx(
        least_score(plain_trees(cases.make_case("missing").model, "elasticsearch"))
    )


def test_the_same_model_makes_the_same_file() -> None:
    for to in ENGINES:
        case = cases.make_case("constants")
        assert exported(case, to) == exported(case, to)


# Parts


def test_thresholds_survive_what_solr_adds() -> None:
    rng = np.random.default_rng(1)
    drawn = (rng.normal(size=2000) * 10.0 ** rng.integers(-6, 30, 2000)).astype(np.float32)
    found = find_written(drawn)
    is_found = ~np.isnan(found)
    assert (found + SLACK == drawn)[is_found].all()
    assert is_found[np.abs(drawn) > 64].all()
    assert is_found[np.abs(drawn) > 4e-6].mean() > 0.99
    assert np.isnan(find_written(np.float32([1e-35]))[0])


def test_thresholds_near_zero_make_solr_scale_the_feature() -> None:
    zero = float(np.float32(1e-35))
    trees = [cases.stump(0, zero, 0, (0.0, 1.0)), cases.stump(0, 1000.0, 0, (0.0, 2.0))]
    made = export(cases.from_trees(trees).model_, "solr")
    name = cases.train_set()[3][0]
    assert "StandardNormalizer" in made.content.decode()
    x = np.array([0.0, 1e-35, 1.1e-35, 1000.0, 1000.1, 3e38], np.float32)
    assert solr.score(made.content, {name: x}).tolist() == [0.0, 0.0, 1.0, 1.0, 3.0, 3.0]
    far = [cases.stump(0, 1e-35, 0, (0.0, 1.0)), cases.stump(0, 1e30, 0, (0.0, 2.0))]
    with pytest.raises(RankforceError, match="go from 1e-35 to 1e\\+30"):
        export(cases.from_trees(far).model_, "solr")


def test_scores_are_lifted_by_little_and_enough() -> None:
    for least in (-3.2, -1e-9, -1.0, -1024.0, -1023.99):
        assert -least * 1e-4 < least + find_shift(least) <= -least * 0.1251
    assert find_shift(0.0) == find_shift(7.0) == 0.0
    assert constant_tree(2.5).leaf_value.tolist() == [2.5]


def test_maps_of_the_documentation_can_be_used() -> None:
    text = (Path(__file__).parents[2] / "docs" / "export.md").read_text("utf-8")
    blocks = re.findall(r"```json\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == 2
    trees = [cases.stump(column, 0.5, 0, (0.0, 1.0)) for column in (0, 1)]
    forest = Forest.on(["bm25_title", "age_days"], ["none"] * 2, {}, trees)
    model = Model(forest, 2, {})
    x = np.zeros(3, np.float32)
    for block, names in zip(
        blocks, (["title_bm25", "age"], ["title_bm25", "age_days"]), strict=True
    ):
        made = export(model, "elasticsearch-ltr", make_features(json.loads(block)))
        stored = None if "feature_set" in block else names
        given = dict.fromkeys(names, x)
        got = elasticsearch_ltr.score(made.content, given, missing="node", stored=stored)
        assert got.tolist() == [0.0] * 3


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[1]", "holds list"),
        ("{", "is no JSON"),
        ('{"a": 3}', "'a' is 3: expected a name, or an object"),
        ('{"a": "x", "a": "y"}', "'a' is there twice"),
        ('{"model": "", "features": {}}', "'model' is ''"),
    ],
)
def test_a_map_that_is_none_is_refused(text: str, told: str, tmp_path: Path) -> None:
    place = tmp_path / "map.json"
    place.write_text(text)
    with pytest.raises(RankforceError, match=told):
        read_features(place)
    with pytest.raises(RankforceError, match="cannot be read"):
        read_features(tmp_path / "none.json")


def test_a_map_must_have_every_feature_that_the_trees_use() -> None:
    model = cases.from_trees([cases.stump(2, 0.5, 0, (0.0, 1.0))]).model_
    names = model.feature_names
    with pytest.raises(RankforceError, match=f"does not say what '{names[2]}' is"):
        export(model, "solr", FeatureMap({names[0]: "other"}))
    two = cases.from_trees([cases.stump(n, 0.5, 0, (0.0, 1.0)) for n in (1, 2)]).model_
    with pytest.raises(RankforceError, match="have the same name, 'x'"):
        export(two, "vespa", FeatureMap({names[1]: "x", names[2]: "x"}))
    with pytest.raises(RankforceError, match="has no 'template'"):
        export(model, "elasticsearch-ltr", FeatureMap({names[2]: {"params": []}}))
    with pytest.raises(RankforceError, match="has 'query'"):
        export(model, "opensearch-ltr", FeatureMap({names[2]: {"query": {}, "template": {}}}))
    some = FeatureMap({names[1]: {"template": {}}, names[2]: "x"})
    with pytest.raises(RankforceError, match="definitions of all features, or names of all"):
        export(two, "elasticsearch-ltr", some)
    made = export(model, "vespa", FeatureMap({names[2]: "bm25(title)"}))
    assert json.loads(made.content)["feature_names"] == ["bm25(title)"]
    with pytest.raises(RankforceError, match="takes names"):
        export(model, "vespa", FeatureMap({names[2]: {"x": 1}}))


def test_evaluators_are_strict() -> None:
    made = exported(cases.make_case("constants"), "elasticsearch-ltr")
    case = cases.make_case("constants")
    columns = columns_of(case)
    spoilt = made.content.replace(b'\\"depth\\"', b'\\"gain\\": 1, \\"depth\\"', 1)
    with pytest.raises(ValueError, match="unknown"):
        elasticsearch_ltr.score(spoilt, columns, missing="node", stored=list(columns))
