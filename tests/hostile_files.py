"""Files that an audit refuses with one clear line, or reads in spite of all."""

from typing import NamedTuple


class File(NamedTuple):
    """A file, options besides the columns, the exit code and words that are said."""

    content: bytes
    code: int
    message: str
    options: str = ""


def _rows(groups, n=60, label="sex", sep=",", scores=None):
    lines = [sep.join(("y", "p", label))]
    for i in range(n):
        score = f"0.{10 + 7 * i % 83}" if scores is None else scores[i % len(scores)]
        lines.append(sep.join((str(i * 5 % 7 % 2), score, groups[i % len(groups)])))
    return "\n".join(lines) + "\n"


_NAMES = ["\u05d0\u05d9\u05e9\u05d4", "\u0645\u06cc\u200c\u0631\u0648\u062f"]
_HEBREW = "\u05de\u05d9\u05df"

#: For columns y, p and sex; by name of the file.
HOSTILE = {
    "empty.csv": File(b"", 2, "is empty"),
    "header.csv": File(b"y,p,sex\n", 2, "has 0 rows"),
    "one_row.csv": File(b"y,p,sex\n1,0.5,F\n", 4, "nothing could be compared"),
    "one_group.csv": File(_rows(["F"]).encode(), 4, "nothing could be compared"),
    "nan.csv": File(
        _rows(["F", "M"], scores=["0.5", "", "0.7"]).encode(), 2, "first in line 3"
    ),
    "semicolons.csv": File(_rows(["F", "M"], sep=";").encode(), 2, "--sep ';'"),
    "semicolons_read.csv": File(
        _rows(["F", "M"], sep=";").encode(), 0, "out.html", "--sep ;"
    ),
    "tabs.tsv": File(_rows(["F", "M"], sep="\t").encode(), 0, "out.html"),
    "latin1.csv": File(_rows(["\xe9", "M"]).encode("latin-1"), 2, "--encoding names"),
    "latin1_read.csv": File(
        _rows(["\xe9", "M"]).encode("latin-1"), 0, "out.html", "--encoding latin-1"
    ),
    "utf16.csv": File(
        _rows(["\xe9", "M"]).encode("utf-16"), 0, "out.html", "--encoding utf-16"
    ),
    "encoding.csv": File(
        _rows(["F", "M"]).encode(), 2, "unknown encoding", "--encoding utf-99"
    ),
    "ages.csv": File(
        _rows([str(age) for age in range(18, 90)], n=1440).encode(), 0, "--bins sex="
    ),
    "markup.csv": File(_rows(["<img src=x>", "&amp;"]).encode(), 0, "out.html"),
    "names.csv": File(
        _rows(_NAMES, label=_HEBREW).encode(),
        0,
        "out.html",
        f"--sensitive {_HEBREW}",
    ),
    "twice.csv": File(b"y,p,sex,sex\n1,0.5,F,M\n", 2, "several columns 'sex'"),
    "scores.csv": File(
        _rows(["F", "M"], scores=["0.5", "1.5"]).encode(), 2, "in line 3"
    ),
    "nothing.xlsx": File(b"", 2, "cannot be read as .xlsx"),
}
