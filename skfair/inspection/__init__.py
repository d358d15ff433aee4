"""Why there is a gap, and pictures of it, as scikit-learn displays.

Displays need matplotlib.
"""

from skfair.inspection._dcp import DCPDisplay
from skfair.inspection._explained_gap import (
    ExplainedGapDisplay,
    ExplainedGapResult,
    explained_gap,
)
from skfair.inspection._group_curves import CalibrationGapDisplay, GroupCurveDisplay
from skfair.inspection._group_rows import GroupGapDisplay, GroupMetricsDisplay
from skfair.inspection._madd import MADDDisplay, RepairDisplay
from skfair.inspection._mcdp import CDFGapDisplay, MCDPCurveDisplay
from skfair.inspection._monitor import MonitorDisplay
from skfair.inspection._proxy_bounds import ProxyBoundsDisplay
from skfair.inspection._trade_off import TradeOffDisplay

__all__ = [
    "CDFGapDisplay",
    "CalibrationGapDisplay",
    "DCPDisplay",
    "ExplainedGapDisplay",
    "ExplainedGapResult",
    "GroupCurveDisplay",
    "GroupGapDisplay",
    "GroupMetricsDisplay",
    "MADDDisplay",
    "MCDPCurveDisplay",
    "MonitorDisplay",
    "ProxyBoundsDisplay",
    "RepairDisplay",
    "TradeOffDisplay",
    "explained_gap",
]
