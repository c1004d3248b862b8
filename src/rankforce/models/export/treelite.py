"""Treelite's checkpoint: trees in double, built node by node by Treelite itself.

Treelite reads model.txt too, with the same scores, but not its rule that zeros are missing values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankforce.kernels.trees import CATEGORICAL, NAN_LEFT
from rankforce.models.export.library import check_library
from rankforce.models.export.registry import FILE, Exported
from rankforce.models.export.rows import about_rows, check_no_map
from rankforce.models.export.zeros import without_zeros
from rankforce.models.forest.tree import Tree, stack
from rankforce.models.forest.xgboost_tree import to_codes
from rankforce.models.model import Model

if TYPE_CHECKING:
    from rankforce.models.export.features import FeatureMap


def export(model: Model, features: FeatureMap | None) -> Exported:
    """The file, and how it is loaded."""
    check_no_map(features, "treelite")
    check_library("treelite", "treelite", "export")
    trees = without_zeros(model, "treelite")
    builder = _builder(len(trees), len(model.feature_names))
    for tree in trees:
        builder.start_tree()
        _add_tree(builder, tree)
        builder.end_tree()
    content: bytes = builder.commit().serialize_bytes()
    told = [
        f"load with: treelite.Model.deserialize('{FILE}'), score with treelite.gtil.predict",
        "rows are to be float64 there, made from float32",
        *about_rows(model),
    ]
    return Exported(content, told)


def _builder(trees: int, columns: int) -> Any:
    """What makes a model whose scores are plain sums of leaves, in double."""
    from treelite.model_builder import Metadata, ModelBuilder, PostProcessorFunc, TreeAnnotation

    return ModelBuilder(
        threshold_type="float64",
        leaf_output_type="float64",
        metadata=Metadata(
            num_feature=columns,
            task_type="kRegressor",
            average_tree_output=False,
            num_target=1,
            num_class=[1],
            leaf_vector_shape=(1, 1),
        ),
        tree_annotation=TreeAnnotation(num_tree=trees, target_id=[0] * trees, class_id=[0] * trees),
        postprocessor=PostProcessorFunc(name="identity"),
        base_scores=[0.0],
    )


def _add_tree(builder: Any, tree: Tree) -> None:
    """Nodes, the root first; leaves are numbered behind them."""
    nodes = stack([tree])
    inner = len(nodes.nodes)
    keys = [
        [inner + ~child if child < 0 else child for child in row]
        for row in nodes.nodes[:, 1:3].tolist()
    ]
    listed = zip(
        nodes.nodes[:, [0, 3]].tolist(),
        keys,
        tree.threshold.tolist(),
        nodes.cats.tolist(),
        strict=True,
    )
    for number, ((feature, flag), (left, right), threshold, (start, many)) in enumerate(listed):
        builder.start_node(number)
        sides = {"left_child_key": left, "right_child_key": right}
        if flag & CATEGORICAL:
            builder.categorical_test(
                feature_id=feature,
                default_left=False,
                category_list=to_codes(nodes.words[start : start + many]),
                category_list_right_child=False,
                **sides,
            )
        else:
            builder.numerical_test(
                feature_id=feature,
                threshold=threshold,
                default_left=bool(flag & NAN_LEFT),
                opname="<=",
                **sides,
            )
        builder.end_node()
    for number, value in enumerate(tree.leaf_value.tolist(), inner):
        builder.start_node(number)
        builder.leaf(value)
        builder.end_node()
