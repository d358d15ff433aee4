"""Why there is a gap, and pictures of it, as scikit-learn displays.

Displays need matplotlib.
"""

from skfair._pictures._group_dots import GroupDotsDisplay
from skfair.inspection._before_after import BeforeAfterDisplay
from skfair.inspection._explained_gap import (
    ExplainedGapDisplay,
    ExplainedGapResult,
    explained_gap,
)
from skfair.inspection._group_curves import GroupCurveDisplay
from skfair.inspection._madd import MADDDisplay
from skfair.inspection._mcdp import CDFGapDisplay, MCDPCurveDisplay
from skfair.inspection._monitor import MonitorDisplay
from skfair.inspection._trade_off import TradeOffDisplay

__all__ = [
    "BeforeAfterDisplay",
    "CDFGapDisplay",
    "ExplainedGapDisplay",
    "ExplainedGapResult",
    "GroupCurveDisplay",
    "GroupDotsDisplay",
    "MADDDisplay",
    "MCDPCurveDisplay",
    "MonitorDisplay",
    "TradeOffDisplay",
    "explained_gap",
]
