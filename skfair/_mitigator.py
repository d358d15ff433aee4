"""What classifiers that mitigate unfairness share: their groups, and what they wrap."""

from __future__ import annotations

import warnings
from typing import Any

from sklearn.utils import Tags, get_tags

from skfair._columns import count_rows, drop_columns
from skfair.groups import Groups, resolve_groups


class Mitigator:
    """Mixin of classifiers that find groups by a keyword or in columns of X."""

    sensitive_features: Any
    drop_sensitive: bool

    def _groups_of(
        self, sensitive_features: Any, X: Any, otherwise: str | None
    ) -> Groups | None:
        """Find the groups of all rows; None, with a warning, where nobody says them.

        It is called by `fit`, whose caller is warned that `otherwise` holds, if given.
        """
        if sensitive_features is None and self.sensitive_features is None:
            if otherwise:
                warnings.warn(
                    f"{type(self).__name__} has no sensitive_features: {otherwise}.",
                    UserWarning,
                    stacklevel=3,
                )
            return None
        return self._resolve_groups(sensitive_features, X)

    def _resolve_groups(self, sensitive_features: Any, X: Any) -> Groups:
        """Find the groups of all rows; raise where nobody says them."""
        return resolve_groups(
            sensitive_features,
            n_samples=count_rows(X),
            X=X,
            selector=self.sensitive_features,
        )

    def _without_sensitive(self, X: Any) -> Any:
        """Return what the model sees of X."""
        return drop_columns(X, self.sensitive_features) if self.drop_sensitive else X


class MetaMitigator(Mitigator):
    """Mixin of binary classifiers around an `estimator`."""

    estimator: Any

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()  # type: ignore[misc]
        inner = get_tags(self.estimator)
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        return tags

    def _check_estimator(self) -> None:
        """Raise unless the estimator gives probabilities."""
        if not hasattr(self.estimator, "predict_proba"):
            raise TypeError(
                f"estimator must have predict_proba, got {self.estimator!r}. Wrap it "
                "in sklearn.calibration.CalibratedClassifierCV."
            )
