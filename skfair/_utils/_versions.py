"""Pickles that know which version of skfair wrote them."""

from __future__ import annotations

from typing import Any

import skfair
from skfair._utils._warnings import warn_user
from skfair.exceptions import InconsistentVersionWarning

#: Key of the version in the state of an object.
_KEY = "_skfair_version"


class Versioned:
    """Mixin that warns if an object was pickled by another version of skfair.

    The mixin comes before `sklearn.base.BaseEstimator` among the base classes, since
    the latter checks the version of scikit-learn only.
    """

    def __getstate__(self) -> dict[str, Any]:
        state: Any = super().__getstate__()
        return {**(state or {}), _KEY: skfair.__version__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        attributes = dict(state)
        version = attributes.pop(_KEY, "unknown")
        if version != skfair.__version__:
            warn_user(
                InconsistentVersionWarning(
                    estimator_name=type(self).__name__,
                    current_skfair_version=skfair.__version__,
                    original_skfair_version=version,
                )
            )
        vars(self).update(attributes)
