"""LightGBM: all that the toolkit knows of it beside the text of its models."""

from __future__ import annotations

from rankforce.engines.base import EngineKind
from rankforce.engines.lightgbm.booster import adopt
from rankforce.engines.lightgbm.engine import LightGBM
from rankforce.engines.lightgbm.parameters import OWN, UNRESUMABLE
from rankforce.engines.shared_bins import share

KIND = EngineKind("lightgbm", LightGBM, OWN, UNRESUMABLE, adopt, share, joins=True)
