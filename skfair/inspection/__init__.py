"""Why there is a gap, and pictures of it, as scikit-learn displays.

Displays need matplotlib.
"""

from skfair.inspection._calibration_gap import CalibrationGapDisplay
from skfair.inspection._cdf_gap import CDFGapDisplay
from skfair.inspection._dcp import DCPDisplay
from skfair.inspection._explained_gap import (
    ExplainedGapDisplay,
    ExplainedGapResult,
    explained_gap,
)
from skfair.inspection._group_curve import GroupCurveDisplay
from skfair.inspection._group_gap import GroupGapDisplay
from skfair.inspection._group_metrics import GroupMetricsDisplay
from skfair.inspection._madd import MADDDisplay
from skfair.inspection._mcdp_curve import MCDPCurveDisplay
from skfair.inspection._monitor import MonitorDisplay
from skfair.inspection._proxy_bounds import ProxyBoundsDisplay
from skfair.inspection._repair import RepairDisplay
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
