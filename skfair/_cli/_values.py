"""What the values of a table say: missing ones, the positive label, and odd ones."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import pandas as pd

from skfair._cli._columns import place_of, text_of
from skfair._cli._faults import Faults
from skfair._cli._read import list_columns
from skfair._utils._text import all_digits, counted, listed
from skfair.groups import MISSING_WORDS, normalize_label, sort_labels, suggest_edges
from skfair.report._repeats import columns_of_people, tell_people

#: Words for missing values among labels.
_MISSING = {*MISSING_WORDS, "unknown"} - {""}
#: What labels of people say whose group is not known.
_NOT_KNOWN = re.compile(
    r"(?i)\bnot (available|provided|reported|recorded|known|stated|disclosed)$"
)
#: How labels begin that are often the positive ones, for a command that is suggested.
_POSITIVE = re.compile(
    r"(?i)(1$|y|t|pos|appr|acc|adm|adv|hir|sel|pass|gran|offer|repaid)"
)
#: From so many groups of numbers on, ranges are suggested.
_MANY_NUMBERS = 20
#: From so many groups on, the column may not be the one that is meant.
_MANY_GROUPS = 200
#: Whole weights of so much on average may be numbers of people.
_MANY_EACH = 10
#: Numbers that often stand for missing ones.
_STAND_INS = (-999, -99, -9, -1, 0, 99, 999, 8888, 9999)
#: A range of numbers, as labels write it.
_RANGE = re.compile(
    r"(?i)\d.*(-|\u2013|\bto\b|,).*\d|[<>≤≥]\D*\d|\d\s*(\+|and )|(under|over) \d"
)


def check_missing(
    rows: Any, values: Sequence[str], groups: Sequence[str], faults: Faults
) -> None:
    """Report columns with missing values for which no option decides."""
    for name, n in rows.n_missing(values).items():
        if faults.args.missing_values == "raise":
            faults.add(
                f"column {name!r} has {counted(n, 'missing value')}{rows.first(name)}; "
                "--missing-values drop leaves these rows out."
            )
            faults.mend(missing_values="drop")
    for name, n in rows.n_missing(groups).items():
        if faults.args.missing_groups == "raise":
            faults.add(
                f"column {name!r} has {counted(n, 'missing value')}{rows.first(name)}; "
                "--missing-groups drop leaves these rows out, --missing-groups group "
                "makes them a group."
            )
            faults.mend(missing_groups="drop")


def check_scores(rows: Any, faults: Faults) -> None:
    """Report scores, and a threshold, that are not probabilities."""
    args = faults.args
    if args.scale != "probability":
        return
    for name in args.y_score:
        low, high = rows.extremes(name)
        if low < 0 or high > 1:
            faults.add(
                f"column {name!r} must have probabilities, in [0, 1], got {low:g} to "
                f"{high:g}; --scale rank takes scores of any unit{_decide_by(args)}, "
                "and percentages can be divided by 100."
            )
            faults.mend(scale="rank")
    if args.threshold is not None and not 0 <= args.threshold <= 1:
        faults.add(
            "--threshold must be in [0, 1], as probabilities are, got "
            f"{args.threshold:g}; --scale rank takes scores of any unit."
        )
        faults.mend(scale="rank")


def _decide_by(args: Any) -> str:
    """Name the option without which scores alone are compared, and no decisions."""
    if args.y_pred or args.threshold is not None:
        return ""
    return " (--threshold 60 compares decisions, too, if 60 is the score that passes)"


def check_clusters(rows: Any, groups: Sequence[str], faults: Faults) -> None:
    """Report people of several groups or strata, and how to give each of them one."""
    person, args = faults.args.cluster, faults.args
    if person is None:
        return
    for name in groups:
        by_person = rows.frame.groupby(person, sort=False)[name]
        odd = by_person.nunique() > 1
        if odd.any():
            people = [repr(label) for label in odd.index[odd]]
            first = by_person.get_group(odd.index[odd][0])
            labels = first.dropna().unique()[:2]
            option = "--sensitive" if name in args.sensitive else "--control-features"
            more = f" ({listed(people)})" if len(people) > 1 else ""
            faults.add(
                f"column {name!r} must be the same in all rows of a person, as "
                f"--cluster {shlex.quote(person)} permutes people: {people[0]} has "
                f"both {labels[0]!r} and {labels[1]!r}, and {len(people):,} of "
                f"{len(odd):,} people{more} have more than one value. Correct the "
                f"file, leave {name!r} out of {option}, or take the first of each "
                "person: "
                f"table[{name!r}] = table.groupby({person!r})[{name!r}]"
                ".transform('first') of pandas."
            )
            kept = [other for other in args.sensitive if other != name]
            if kept:
                strata = [other for other in args.control_features if other != name]
                faults.mend(sensitive=kept, control_features=strata)


def check_people(rows: Any, faults: Faults) -> None:
    """Report missing or wrong counts; split rows into selected and others."""
    args = faults.args
    _ask_for_decisions(rows, faults)
    if args.selected is None:
        _ask_for_counts(rows, faults)
        return
    if args.y_pred:
        faults.add(
            f"--selected {args.selected} has the decisions, so that --y-pred must be "
            "left out."
        )
        faults.mend(y_pred=[])
    if args.count is None:
        bound = _bound_of(rows, args.selected)
        faults.add(
            "--selected needs --count, the column that says how many people a row "
            "stands for in all."
        )
        faults.mend(count=bound or "COLUMN")
        faults.check()
    few, many = rows.frame[args.selected], rows.frame[args.count]
    _refuse_labels(rows, few, many, faults)
    odd = ~((few <= many) & (few >= 0) & (few % 1 == 0))
    if odd.any():
        place = place_of(rows.frame.index[int(odd.argmax())])
        faults.stop(
            f"column {args.selected!r} must be whole numbers from 0 to those of column "
            f"{args.count!r}, got {few[odd].iloc[0]:g} of {many[odd].iloc[0]:g} in "
            f"{place}."
        )
    # Beside outcomes, whose labels are often 0 and 1, decisions have the same.
    names = ("selected", "not selected") if args.y_true is None else ("1", "0")
    rows.split(args.selected, names)


def _refuse_labels(rows: Any, few: Any, many: Any, faults: Faults) -> None:
    """Report labels 0 and 1 in the place of numbers of people who are selected.

    A group with one row may have at most one person who is selected.
    """
    args = faults.args
    groups = rows.frame[[*dict.fromkeys(args.sensitive + args.control_features)]]
    if not few.isin([0, 1]).all() or many.max() <= 1 or not groups.duplicated().any():
        return
    name, count = args.selected, args.count
    faults.add(
        f"column {name!r} has only 0 and 1, as labels have, beside up to "
        f"{many.max():,.0f} people in a row of column {count!r}: --y-pred "
        f"{shlex.quote(name)} --count {shlex.quote(count)} gives the label of a row to "
        "all of its people. If it does count people who are selected, add up the rows "
        "of each group in the file (DataFrame.groupby of pandas)."
    )
    faults.mend(y_pred=[name], selected=None)
    faults.check()


def _ask_for_decisions(rows: Any, faults: Faults) -> None:
    """Suggest the numbers of people in a table without decisions, and stop."""
    args = faults.args
    if args.y_pred or args.y_score or args.selected:
        return
    names = rows.others if rows.in_memory else ()
    bounds = {name: _people_of(rows, name) for name in names}
    found = [(name, bound) for name, bound in bounds.items() if bound is not None]
    faults.mend(y_pred=["COLUMN"])
    if found:
        _suggest_counts(*found[0], [], faults)
    faults.stop(list_columns(args.table, [*rows.frame] if rows.in_memory else []))


def _suggest_counts(
    name: str, bound: str, y_pred: Sequence[str], faults: Faults
) -> None:
    """Report that a column counts people who are selected, of those in another."""
    faults.add(
        f"column {name!r} seems to count people who are selected, of those in "
        f"column {bound!r}: --count {bound} --selected {name} reads it so."
    )
    faults.mend(y_pred=[*y_pred], pos_label=[], count=bound, selected=name)


def _ask_for_counts(rows: Any, faults: Faults) -> None:
    """Report a column that seems to say how many people a row stands for.

    A table of counts has a row for about each combination of its other columns.
    """
    if faults.args.count is not None or not rows.others:
        return
    for name in rows.others:
        if _whole(rows.frame[name]) is None:
            continue
        others = rows.frame.drop(columns=name)
        n_cells = int(others.nunique().prod())
        if others.duplicated().any() or 2 * len(others) < n_cells:
            continue
        faults.add(
            f"column {name!r} has whole numbers beside a row for each combination of "
            f"the other columns: --count {name} makes each row stand for so many "
            "people."
        )
        faults.mend(count=name)
        return


def _are_counted(rows: Any, counts: Any, faults: Faults) -> bool:
    """Add a fault if a column of decisions holds numbers of people; say if one does."""
    args = faults.args
    decisions = [name for name in args.y_pred if name in counts]  # no numbers
    for name in decisions if rows.in_memory else ():
        bound = _people_of(rows, name)
        if bound is not None:
            rest = [other for other in args.y_pred if other != name]
            _suggest_counts(name, bound, rest, faults)
            return True
    return False


def _people_of(rows: Any, name: str) -> str | None:
    """Find the column of all people, of whom a column counts the selected ones.

    Codes of decisions are few, numbers of people mostly differ.
    """
    n_values = rows.frame[name].nunique()
    if n_values < 3 or 2 * n_values < len(rows.frame):
        return None
    return _bound_of(rows, name)


def _bound_of(rows: Any, name: str) -> str | None:
    """Find the column of whole numbers that bounds another column."""
    found = _whole(rows.frame[name])
    if found is None:
        return None
    count = [] if rows.counted_by is None else [rows.counted_by]
    numbers = {other: _whole(rows.frame[other]) for other in count or rows.others}
    bounds = {
        other: n.sum()
        for other, n in numbers.items()
        if n is not None and (found <= n).all() and (found < n).any()
    }
    return min(bounds, key=lambda other: bounds[other], default=None)


def _whole(column: Any) -> Any:
    """Return a column as numbers of people, some above 1, or None if it is another."""
    numbers = pd.to_numeric(column, errors="coerce")
    whole = (numbers >= 0) & (numbers % 1 == 0)
    return numbers if whole.all() and numbers.max() > 1 else None


def check_weights(rows: Any, faults: Faults) -> None:
    """Note weights that may be numbers of people."""
    name = faults.args.sample_weight
    if name is None:
        return
    total, n_rows, whole = rows.total(name)
    if whole and total >= _MANY_EACH * max(n_rows, 1):
        faults.notes.append(
            f"column {name!r} has whole weights, {total / n_rows:,.0f} on average. If "
            f"they say how many people each row stands for, --count {name} in place of "
            "--sample-weight counts these people."
        )


def read_labels(rows: Any, names: Sequence[str], faults: Faults) -> str | None:
    """Find the positive label, and count all others as negative.

    None where there are no labels, or the report is on several classes.
    """
    args = faults.args
    counts = {name: rows.counts(name) for name in names}
    if _are_counted(rows, counts, faults):
        return None
    given = [text_of(label) or "" for label in args.pos_label]
    if not given:
        _check_words(rows, counts, faults)
    labels = _labels(counts, args.na_values)
    if not labels:
        return given[0] if given else None
    positives = given or _usual(labels)
    if not positives and args.y_true and not args.y_score and _share_labels(counts):
        return None  # several classes
    if not positives or not _are_known(positives, counts, faults):
        _ask_for_positives(counts, positives, faults)
        return None
    _check_spelling(labels, positives, faults)
    negatives = [label for label in labels if label not in positives]
    if len(negatives) > 1 and len(positives) == 1:
        faults.notes.append(
            f"{positives[0]!r} counts as positive, and {_some(negatives)} as negative."
        )
    if len(positives) > 1 or len(negatives) > 1:
        new = dict.fromkeys(positives, positives[0])
        new |= dict.fromkeys(negatives, f"not {positives[0]}")
        for name in names:
            rows.replace_labels(name, new)
    return positives[0]


def names_of_outcomes(rows: Any, args: Any) -> tuple[str, str] | None:
    """Name the negative and the positive outcome as their column does.

    None where no label is said to be positive, or outcomes have none of these.
    """
    if args.y_true is None or args.scale == "real":
        return None
    labels = [*rows.counts(args.y_true).index]
    positives = [text_of(label) or "" for label in args.pos_label]
    own = [label for label in positives if label in labels]
    if not own:
        return None
    others = [label for label in labels if label not in positives]
    return others[0] if len(others) == 1 else f"not {own[0]}", own[0]


def _labels(counts: Any, left_out: Collection[str] = ()) -> list[str]:
    """Return the labels of some columns, sorted."""
    labels = {label for each in counts.values() for label in each.index}
    return sort_labels(labels - {*left_out})


def _check_words(rows: Any, counts: Any, faults: Faults) -> None:
    """Report words for missing values beside two labels."""
    words = {label for label in _labels(counts) if label.casefold() in _MISSING}
    if not words or len({*_labels(counts)} - words) > 2:
        return
    for name, each in counts.items():
        for word in sorted(words & {*each.index}):
            n = counted(int(each[word]), "row")
            faults.add(
                f"column {name!r} has {word!r} in {n}{rows.first(name, word)}: "
                f"--na-values {word} makes it missing, --missing-values drop leaves "
                "such rows out."
            )
    args = faults.args
    for name in [*args.sensitive, *args.control_features]:
        if args.missing_groups == "raise" and words & {*rows.counts(name).index}:
            faults.mend(missing_groups="drop")
    words |= {*args.na_values}
    faults.mend(na_values=sorted(words), missing_values="drop")


def _usual(labels: Sequence[str]) -> list[str]:
    """Return the positive label of 0 and 1, -1 and 1, or false and true."""
    if {*labels} <= {"0", "1"} or {*labels} == {"-1", "1"}:
        return ["1"]
    if {label.casefold() for label in labels} <= {"true", "false"}:
        return [label for label in labels if label.casefold() == "true"] or ["true"]
    return []


def _share_labels(counts: Any) -> bool:
    """Return whether columns have a label in common."""
    first, *others = ({*each.index} for each in counts.values())
    return bool(others) and all(first & other for other in others)


def _are_known(positives: Sequence[str], counts: Any, faults: Faults) -> bool:
    """Return whether all positive labels occur in their columns.

    A column without any of them has the negative labels of another column.
    """
    if not faults.args.pos_label:
        return True
    understood = [
        {*each.index} for each in counts.values() if {*each.index} & {*positives}
    ]
    known = set().union(*understood)
    return {*positives} <= known and all({*c.index} <= known for c in counts.values())


def _check_spelling(
    labels: Sequence[str], positives: Sequence[str], faults: Faults
) -> None:
    """Report labels spelled nearly like a positive label."""
    looks = {label.casefold(): label for label in positives}
    alike = [x for x in labels if x.casefold() in looks and x not in positives]
    for label in alike:
        like = looks[label.casefold()]
        faults.add(f"label {label!r} looks like the positive label {like!r}.")
    if alike:
        faults.mend(pos_label=[*positives, *alike])


def _ask_for_positives(counts: Any, positives: Sequence[str], faults: Faults) -> None:
    """Report that positive labels are unknown, and suggest some."""
    labels, names = _labels(counts, faults.args.na_values), [*counts]
    columns = listed([f"{name!r} ({_some(counts[name].index)})" for name in names])
    plural = "columns" if len(names) > 1 else "column"
    meant = _meant(labels)
    if len(names) == 1 or _share_labels(counts):
        text = f"--pos-label must say which label of {plural} {columns} is positive"
        if positives:
            text += f", got {' and '.join(map(repr, positives))}"
            alike = [x for x in labels if x.casefold() == positives[0].casefold()]
            meant = alike or meant
        faults.add(f"{text}.")
        look = meant[0].casefold()
        faults.mend(pos_label=[x for x in labels if x.casefold() == look])
        return
    faults.add(
        f"{plural} {columns} have no label in common: --pos-label must be given for "
        "each, or --y-true left out."
    )
    own = ([x for x in each.index if x in labels] for each in counts.values())
    looks = {label.casefold() for each in own for label in _meant(each)[:1]}
    faults.mend(pos_label=[label for label in labels if label.casefold() in looks])


def _meant(labels: Sequence[str]) -> list[str]:
    """Return the labels that are likely to be positive."""
    return [label for label in labels if _POSITIVE.match(label)] or [*labels[-1:]]


def _some(labels: Collection[str]) -> str:
    """List some labels."""
    return listed([repr(label) for label in labels], 5)


def repeated(rows: Any, groups: Sequence[str]) -> Iterator[str]:
    """Say which columns may name people who have several rows, or have them twice."""
    if rows.others:
        groups_of_rows = [rows.frame[name] for name in groups]
        found = columns_of_people(rows.frame[rows.others], groups_of_rows)
        yield from tell_people(
            found, len(rows.frame), lambda name: f"--cluster {shlex.quote(name)}"
        )
    if rows.identifier is not None:
        column = rows.frame[rows.identifier].dropna()
        n_repeated = int(column.duplicated().sum())
        if 0 < n_repeated < len(column) / 2:
            yield (
                f"column {rows.identifier!r} has {counted(n_repeated, 'value')} that "
                "an earlier row has, too. If each row should be another person, leave "
                "the others out of the file (DataFrame.drop_duplicates of pandas); if "
                "people may have several rows, --cluster "
                f"{shlex.quote(rows.identifier)} permutes and counts people."
            )


def odd_values(rows: Any, names: Sequence[str], min_group_size: int) -> Iterator[str]:
    """Describe odd values in a table, one text for each column and kind."""
    for name in names:
        counts = rows.counts(name).rename_axis(name)
        for find in _words, _look_alikes, _stand_ins:
            if text := find(counts):
                yield f"column {name!r} has {text}."
        if text := _too_many(counts, min_group_size):
            yield f"column {name!r} has {text}"


def _words(counts: pd.Series[int]) -> str | None:
    """Name words for missing values among labels."""
    words = [
        word
        for word in counts.index
        if word.casefold() in _MISSING or _NOT_KNOWN.search(word)
    ]
    if not words:
        return None
    found = listed([f"{w!r} ({counted(int(counts[w]), 'row')})" for w in words])
    return (
        f"{found}, which may stand for missing values; --na-values "
        f"{shlex.quote(','.join(words))} makes them missing"
    )


def _look_alikes(counts: pd.Series[int]) -> str | None:
    """Name the labels that differ in upper and lower case, spaces or zeros alone.

    So do an initial and the one longer label that begins with it, as F and Female.
    """
    if len(counts) > _MANY_GROUPS:
        return None
    looks = {label: str(normalize_label(label)).casefold() for label in counts.index}
    words = {look for look in looks.values() if not re.search(r"\d", look)}
    for short in {word for word in words if len(word) == 1 and word.isalpha()}:
        longer = {word for word in words if word[0] == short} - {short}
        if len(longer) == 1:
            looks = {a: short if b in longer else b for a, b in looks.items()}
    common: dict[str, str] = {}
    spelled: dict[str, str] = {}
    for label in counts.sort_values(ascending=False, kind="stable").index:
        other = common.setdefault(looks[label], label)
        if other is not label:
            spelled[label] = other
    if not spelled:
        return None
    names = [
        f"{a!r} ({counts[a]:,}) beside {b!r} ({counts[b]:,})"
        for a, b in spelled.items()
    ]
    return (
        f"{listed(names, 4)}, which look alike and count as different; write them "
        f"alike in the file: table[{counts.index.name!r}].replace({spelled}) of pandas"
    )


def _stand_ins(counts: pd.Series[int]) -> str | None:
    """Name numbers far from all others that may stand for missing values."""
    numbers = pd.to_numeric(pd.Series(counts.index), errors="coerce")
    others = [*counts.index[numbers.isna().to_numpy()]]
    if len(others) > 1 and numbers.notna().any() and all(map(_RANGE.search, others)):
        return _stand_ins_of_ranges(counts, numbers)
    usual = numbers[~numbers.isin(_STAND_INS)]
    if numbers.isna().any() or len(usual) < _MANY_NUMBERS:
        return None
    low, high = usual.min(), usual.max()
    far = (numbers < low - (high - low) / 5) | (numbers > high + (high - low) / 5)
    odd = [*counts.index[(far & numbers.isin(_STAND_INS)).to_numpy()]]
    if not odd:
        return None
    names = listed([f"{label} ({counted(int(counts[label]), 'row')})" for label in odd])
    return (
        f"{names} beside {all_digits(low)} to {all_digits(high)}; cells without a "
        "number should be empty"
    )


def _stand_ins_of_ranges(
    counts: pd.Series[int], numbers: pd.Series[float]
) -> str | None:
    """Name numbers among ranges that may stand for missing values."""
    odd = [*counts.index[numbers.isin(_STAND_INS).to_numpy()]]
    if not odd or len(odd) < numbers.notna().sum():
        return None
    names = listed(
        [f"{label!r} ({counted(int(counts[label]), 'row')})" for label in odd]
    )
    return (
        f"{names} among ranges, which may stand for missing values; --na-values "
        f"{shlex.quote(','.join(odd))} makes them missing"
    )


def _too_many(counts: pd.Series[int], min_group_size: int) -> str | None:
    """Suggest ranges where the groups are many numbers, or few rows each."""
    n_groups = len(counts)
    if n_groups < _MANY_NUMBERS:
        return None
    labels = pd.Series(counts.index, dtype=object)
    numbers = pd.to_numeric(labels, errors="coerce")
    if not numbers.isna().any():
        edges = listed([*map(all_digits, suggest_edges(numbers, counts.to_numpy()))])
        return (
            f"{n_groups:,} groups, each a number; ranges that begin at {edges} could "
            "be compared (pandas.cut)."
        )
    if n_groups < _MANY_GROUPS:
        return None
    half = int(counts.median())
    return (
        f"{n_groups:,} groups, half of them of {counted(half, 'row')} at most: "
        "is it the column that is meant? --rare merge joins groups of fewer than "
        f"{min_group_size} rows."
    )
