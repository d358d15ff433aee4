"""Two courses of the Open University Learning Analytics dataset (OULAD)."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any, Literal

from sklearn.utils import Bunch

from skfair.datasets._tables import (
    as_dataset,
    data_directory,
    optional_columns,
    read_description,
    read_table,
    require_columns,
    with_categories,
)

FILENAMES = {"BBB": "oulad_madd_bbb.csv.gz", "FFF": "oulad_madd_fff.csv.gz"}
TARGET = "final_result"
COLUMNS = (
    "gender",
    "highest_education",
    "poverty",
    "age",
    "disability",
    "num_of_prev_attempts",
    "studied_credits",
    "sum_click",
    TARGET,
)
PROBABILITIES = ("proba_DT", "proba_KN", "proba_LR", "proba_NB")
SENSITIVE_FEATURES = ("gender", "poverty", "disability", "age")

SOURCE = "https://analyse.kmi.open.ac.uk/open_dataset"
ADVICE = (
    f"There is no copy on OpenML. Get the Open University Learning Analytics dataset "
    f"at {SOURCE}, prepare the course as the docstring of fetch_oulad tells, and save "
    f"a gzip-compressed CSV file of that name with the columns {', '.join(COLUMNS)} "
    f"(optional: split, {', '.join(PROBABILITIES)})."
)


def fetch_oulad(
    *,
    course: Literal["BBB", "FFF"] = "BBB",
    data_home: str | PathLike[str] | None = None,
    return_X_y: bool = False,
    as_frame: bool = True,
) -> Bunch | tuple[Any, Any]:
    """Load a course of the Open University: which students pass.

    Reads ``oulad_madd_bbb.csv.gz`` or ``oulad_madd_fff.csv.gz`` from a local
    directory; nothing is downloaded, since there is no copy on OpenML. See Notes for
    how to make the files.

    ================  =================================
    Samples           5,299 (BBB) or 4,740 (FFF)
    Features          8, numeric, in [0, 1]
    Target            1 (passed) or 0
    Sensitive         gender, poverty, disability, age
    ================  =================================

    Parameters
    ----------
    course : {"BBB", "FFF"}, default="BBB"
        Which course: BBB is in the social sciences, FFF in STEM.
    data_home : str or path-like, default=None
        Directory that has the file; by default the one named by the environment
        variable ``SKFAIR_DATA``.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch.
    as_frame : bool, default=True
        Return pandas objects, otherwise NumPy arrays.

    Returns
    -------
    dataset : :class:`~sklearn.utils.Bunch`
        With these attributes:

        data : DataFrame or ndarray of shape (n_samples, 8)
            The features, as floats.
        target : Series or ndarray of shape (n_samples,)
            1 if the student passed, else 0.
        frame : DataFrame of shape (n_samples, 9) or None
            `data` and `target`; only with ``as_frame=True``.
        feature_names : list of str
            Names of the features.
        target_names : list of str
            Name of the target, ``["final_result"]``.
        sensitive_features : list of str
            ``["gender", "poverty", "disability", "age"]``.
        split : Series or ndarray of shape (n_samples,)
            ``"train"`` or ``"test"`` in the MADD papers; only if the file has it.
        probabilities : DataFrame or ndarray of shape (n_samples, 4)
            P(target = 1) by the papers' models, columns proba_DT, proba_KN, proba_LR
            and proba_NB, NaN in the training rows; only if the file has them.
        DESCR : str
            Source, citation, licence and known caveats; read the one on the mixed
            arrays before you compare with printed MADD values.

    (data, target) : tuple
        If `return_X_y` is True.

    Raises
    ------
    ValueError
        If `course` is not one of the two, or the table lacks a column.
    FileNotFoundError
        If no directory is given, or it does not have the file.

    See Also
    --------
    fetch_adult : Incomes, by sex and race.
    fetch_bank_marketing : Clients of a bank, by age, marital status and education.

    Notes
    -----
    The preparation is that of the MADD papers [2]_. From the dataset's
    ``studentInfo``, joined with each student's sum of clicks: drop the rows without
    ``imd_band`` and those with the result Withdrawn, keep the first row of each
    student over all courses, then the rows of the course. Encode gender (1 = M),
    disability (1 = Y), poverty (1 = ``imd_band`` below 50 %), age (0-35, 35-55, 55<=
    as 0, 1, 2), highest_education (its rank) and final_result (1 = Pass or
    Distinction), and scale every column to [0, 1].

    References
    ----------
    .. [1] Kuzilek J., Hlosta M., Zdrahal Z. (2017). Open University Learning
       Analytics dataset. Scientific Data 4, 170171. :doi:`10.1038/sdata.2017.171`.
       https://analyse.kmi.open.ac.uk/open_dataset
    .. [2] Verger M., Lalle S., Bouchet F., Luengo V. (2023). Is Your Model "MADD"? A
       Novel Metric to Evaluate Algorithmic Fairness for Predictive Student Models.
       EDM 2023.

    Examples
    --------
    >>> from skfair.datasets import fetch_oulad
    >>> students = fetch_oulad(course="FFF")  # doctest: +SKIP
    >>> students.data.shape  # doctest: +SKIP
    (4740, 8)
    >>> test = students.split == "test"  # doctest: +SKIP
    >>> students.probabilities[test].shape  # doctest: +SKIP
    (1422, 4)
    """
    if course not in FILENAMES:
        raise ValueError(f"course must be 'BBB' or 'FFF', got {course!r}.")
    directory = data_directory() if data_home is None else Path(data_home)
    if directory is None:
        raise FileNotFoundError(
            f"{FILENAMES[course]!r} not found: neither data_home nor the environment "
            f"variable SKFAIR_DATA names a directory. {ADVICE}"
        )
    table = with_categories(read_table(directory, FILENAMES[course], ADVICE))
    extras: dict[str, Any] = {}
    if optional_columns(table, ["split"]):
        extras["split"] = table["split"]
    if probabilities := optional_columns(table, PROBABILITIES):
        extras["probabilities"] = table[probabilities]
    table = require_columns(table, COLUMNS, FILENAMES[course])
    return as_dataset(
        table.astype({TARGET: "int64"}),
        target=TARGET,
        sensitive_features=SENSITIVE_FEATURES,
        descr=read_description("oulad", course=course, size=f"{len(table):,}"),
        return_X_y=return_X_y,
        as_frame=as_frame,
        extras=extras,
    )
