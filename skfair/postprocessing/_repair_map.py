"""Map of scores by group and stratum, which estimators learn and apply."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from skfair._mitigation import keep_comparable, labels_text
from skfair._rows import Rows
from skfair._utils._arrays import Floats
from skfair._utils._text import counted
from skfair._utils._validation import ParameterError, check_choice, check_real
from skfair.groups import (
    MISSING_LABEL,
    Groups,
    encode_groups,
    recode,
    resolve_groups,
    resolve_strata,
    rows_by_code,
)
from skfair.postprocessing._group_cdfs import (
    GroupCDFs,
    end_scores,
    weighted_distributions,
)
from skfair.postprocessing._stratum_map import StratumMap

#: Where ties leave too large a gap, a certified repair lowers its aim by this share of
#: `max_mcdp` or more at each step.
_LEAST_STEP = 1 / 20


@dataclass(eq=False)
class RepairMap:
    """Map of scores by group, and by stratum if there are several.

    The parameters are those of `ScoreRepairer`. `learn` sets the other attributes.
    `single_map` is the map of all rows, learnt from all of them or from a single
    stratum. With several strata it is None, and `maps_by_stratum` has a map for each.
    `unused_strata` are strata that had rows in `learn`, but fewer than two groups.
    `takes_ungrouped` says whether `repair` takes rows without a group, whose scores
    stay.
    """

    repair_level: float = 1.0
    max_mcdp: float | None = None
    confidence_level: float | None = None
    ties: Literal["mid", "random"] = "mid"
    scale: Literal["probability", "real"] = "probability"
    groups: tuple[Hashable, ...] = field(init=False)
    strata: tuple[Hashable, ...] = field(init=False)
    unused_strata: tuple[Hashable, ...] = field(init=False)
    single_map: StratumMap | None = field(init=False)
    maps_by_stratum: dict[Hashable, RepairMap] = field(init=False)
    takes_ungrouped: bool = field(init=False)
    certified_mcdp: float | None = field(init=False)

    def learn(
        self, rows: Rows, *, warn: bool = True, takes_ungrouped: bool = False
    ) -> Self:
        """Learn the maps from the scores of some rows.

        With `warn`, a warning names the strata and groups that are left out.
        """
        self.takes_ungrouped = takes_ungrouped or bool((rows.groups.codes < 0).any())
        self.strata, self.unused_strata, self.maps_by_stratum = (), (), {}
        strata = rows.strata
        if strata is None:
            return self._learn_single(rows)
        groups, compared = keep_comparable(rows.groups, strata, rows.weight, warn)
        assert compared is not None
        self.strata = compared.labels
        present = {strata.labels[code] for code in np.flatnonzero(strata.sizes())}
        self.unused_strata = tuple(present.difference(self.strata))
        rows = replace(rows, groups=groups, strata=None)
        parts = [rows[positions] for positions in rows_by_code(compared.codes)]
        if len(strata.labels) == 1:
            return self._learn_single(parts[0])
        return self._learn_strata(groups.labels, parts)

    def _learn_single(self, rows: Rows) -> Self:
        """Learn one map for all rows, from all of them or from those of one stratum."""
        statistic = weighted_distributions(rows)
        # Certificates hold for exact CDFs.
        by_gap = self.max_mcdp is not None and self.confidence_level is None
        cdfs = GroupCDFs.from_statistic(
            statistic,
            end_scores(self.scale, statistic.scores),
            smooth=by_gap and self.scale == "probability",
        )
        self.groups, self.certified_mcdp = cdfs.labels, None
        if self.max_mcdp is None:
            targets = cdfs.move_towards_pooled(float(self.repair_level))
            self.single_map = StratumMap(cdfs, targets, self.ties, self.scale)
        elif self.confidence_level is None:
            targets = cdfs.limit_gap(self.max_mcdp)
            self.single_map = StratumMap(cdfs, targets, self.ties, self.scale)
        else:
            self._certify(cdfs, self.max_mcdp, 1 - self.confidence_level)
        return self

    def _certify(self, cdfs: GroupCDFs, max_mcdp: float, tail: float) -> None:
        """Lower the aim until gap plus noise is at most `max_mcdp`, and certify.

        The maps increase, so that all of them keep the heights of the CDFs: one bound
        of the noise holds for every aim, and the same rows may choose it.
        """
        noise = cdfs.gap_noise_quantile(tail)
        aim = max(0.0, max_mcdp - noise - cdfs.largest_row_share())
        while True:
            targets = cdfs.limit_gap(aim)
            self.single_map = StratumMap(cdfs, targets, self.ties, self.scale)
            gap = self.single_map.repaired_gap()
            excess = gap + noise - max_mcdp
            if excess <= 0 or aim == 0:
                break
            aim = max(0.0, aim - max(excess, max_mcdp * _LEAST_STEP))
        self.certified_mcdp = min(1.0, gap + noise)

    def _learn_strata(self, groups: tuple[Hashable, ...], parts: list[Rows]) -> Self:
        """Learn a map from the rows of each of several strata."""
        self.groups, self.single_map, self.certified_mcdp = groups, None, None
        confidence_level = self.confidence_level
        if confidence_level is not None:
            # All strata together have the confidence asked for.
            confidence_level = 1 - (1 - confidence_level) / len(parts)
        for label, rows in zip(self.strata, parts, strict=True):
            part = replace(self, confidence_level=confidence_level)
            self.maps_by_stratum[label] = part.learn(rows)
        if confidence_level is not None:
            certified = [
                part.certified_mcdp or 0.0 for part in self.maps_by_stratum.values()
            ]
            self.certified_mcdp = max(certified)
        return self

    def read_groups(
        self,
        sensitive_features: Any,
        control_features: Any,
        n_samples: int,
        unknown_groups: str,
    ) -> tuple[Groups, Groups | None]:
        """Read and check the groups and the strata of rows to repair."""
        if sensitive_features is not None:
            columns = labels_by_column(self.groups)
            is_group = any(MISSING_LABEL in labels for labels in columns)
            sensitive_features = encode_groups(
                sensitive_features, missing="group" if is_group else "drop"
            )
        groups = resolve_groups(sensitive_features, n_samples=n_samples)
        strata = None
        if control_features is not None or self.maps_by_stratum:
            strata = self._read_strata(control_features, n_samples)
        if unknown_groups == "raise":
            ungrouped = groups.codes < 0 if self.takes_ungrouped else None
            _check_known("sensitive_features", "groups", groups, self.groups, ungrouped)
            if strata is not None and self.maps_by_stratum:
                unused = recode(strata.codes, strata.labels, self.unused_strata) >= 0
                _check_known("control_features", "strata", strata, self.strata, unused)
        return groups, strata

    def _read_strata(
        self, control_features: ArrayLike | None, n_samples: int
    ) -> Groups:
        """Read the strata of rows to repair; several maps need them."""
        if control_features is None:
            raise ValueError(
                f"control_features is None, expected the stratum of each row: fit has "
                f"repaired several, {labels_text(self.strata)}. Strata that are not "
                "known of new rows, such as the true label, must be one in fit, with "
                "all other rows in none: encode_groups(..., missing='drop')."
            )
        return resolve_strata(control_features, n_samples=n_samples)

    def repair(
        self,
        scores: Floats,
        groups: Groups,
        strata: Groups | None,
        random_state: Any,
    ) -> Floats:
        """Repair the scores of known groups in known strata; all other scores stay."""
        if self.single_map is not None:
            return self.single_map.repair(scores, groups, random_state)
        assert strata is not None
        repaired, codes = np.array(scores), strata.codes
        positions_by_stratum = rows_by_code(codes, len(strata.labels))
        for label, positions in zip(strata.labels, positions_by_stratum, strict=True):
            if label in self.maps_by_stratum:
                repaired[positions] = self.maps_by_stratum[label].repair(
                    scores[positions], groups[positions], None, random_state
                )
        return repaired


def _check_known(
    argument: str,
    noun: str,
    column: Groups,
    labels: tuple[Hashable, ...],
    exempt: Any = None,
) -> None:
    """Raise if `fit` has not seen the labels of some rows that are not `exempt`."""
    unknown = recode(column.codes, column.labels, labels) < 0
    if exempt is not None:
        unknown &= ~exempt
    if not unknown.any():
        return
    names = [*column.labels, MISSING_LABEL]
    named = [names[code] for code in np.unique(column.codes[unknown])]
    positions = np.flatnonzero(unknown)
    more = ", ..." if len(positions) > 5 else ""
    raise ValueError(
        f"{argument} has {noun} {named} in {counted(len(positions), 'row')} "
        f"({', '.join(map(str, positions[:5]))}{more}), expected those seen in fit, "
        f"{list(labels)}. After set_params(unknown_groups='pooled') such rows "
        "keep their scores."
    )


def labels_by_column(groups: tuple[Hashable, ...]) -> list[tuple[Any, ...]]:
    """Return the labels by column: an intersection has tuples for labels."""
    if all(isinstance(label, tuple) for label in groups):
        return list(zip(*groups, strict=True))
    return [groups]


def check_ties_and_unknown_groups(estimator: Any) -> None:
    """Raise unless `ties` and `unknown_groups` of an estimator are valid."""
    check_choice("ties", estimator.ties, ("mid", "random"))
    check_choice("unknown_groups", estimator.unknown_groups, ("raise", "pooled"))


def check_max_mcdp(max_mcdp: Any, level: Any, default: Any) -> None:
    """Raise unless `max_mcdp` is None, or valid while the level has its default."""
    if max_mcdp is None:
        return
    check_real("max_mcdp", max_mcdp, 0, 1, alternative="None or ")
    if level != default:
        raise ParameterError(
            "max_mcdp",
            f"replaces repair_level, got max_mcdp={max_mcdp!r} and repair_level="
            f"{level!r}: leave one of them at its default, None or {default!r}.",
        )
