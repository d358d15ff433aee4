"""Public names and signatures are those that a file lists: none changes unnoticed."""

import difflib
import importlib
import inspect
import math
import pkgutil
import re
import sys
from functools import cached_property
from pathlib import Path

import pytest

import skfair

PROPERTY = property | cached_property
FILE = Path(__file__).with_name("public_names.txt")
WRITE = "python tests/test_public_names.py"


def signature_text(function):
    """Write the parameters of a function in order with defaults, without types."""
    signature = inspect.signature(function)
    plain = [one.replace(annotation=one.empty) for one in signature.parameters.values()]
    return str(inspect.Signature(plain))


def lines_of(name, value):
    """Name a public object, and what is public in it if it is a class of skfair."""
    if isinstance(value, PROPERTY) or not callable(value):
        return [name]
    if inspect.isclass(value) and issubclass(value, Exception):
        return [name]
    lines = [f"{name}{signature_text(value)}"]
    bases = value.__mro__ if inspect.isclass(value) else ()
    found = {}
    for base in reversed(bases):
        if base.__module__.startswith("skfair"):
            found |= vars(base)
    for member, held in sorted(found.items()):
        # Users see of a base class what a class of their own defines.
        if inspect.isabstract(value) and member not in value.__abstractmethods__:
            continue
        # scikit-learn adds the methods of metadata routing.
        if member.startswith("_") or member.endswith("_request"):
            continue
        one = held if isinstance(held, PROPERTY) else getattr(value, member)
        # Fields of a dataclass with a default stand in its signature.
        if isinstance(one, PROPERTY) or callable(one):
            lines += lines_of(f"{name}.{member}", one)
    return lines


def public_lines():
    """List the names of all packages; without its library a package keeps its lines."""
    lines = []
    for _, package, _ in pkgutil.iter_modules(skfair.__path__, "skfair."):
        if package.startswith("skfair._"):
            continue
        try:
            module = importlib.import_module(package)
        except ImportError:
            known = FILE.read_text(encoding="utf-8").splitlines()
            lines += [line for line in known if line.startswith(f"{package}.")]
        else:
            for name in sorted(module.__all__):
                lines += lines_of(f"{package}.{name}", getattr(module, name))
    return lines


def test_public_names_are_those_of_the_file():
    expected = FILE.read_text(encoding="utf-8").splitlines()
    changes = difflib.unified_diff(expected, public_lines(), lineterm="", n=0)
    found = "\n".join(line for line in changes if line[:2] not in ("--", "++", "@@"))
    assert not found, (
        f"Public names or signatures differ from {FILE.name}:\n{found}\n"
        f"If that is meant, write the file again by '{WRITE}'."
    )


def test_docstrings_are_short_enough_to_be_read():
    for line in public_lines():
        package, _, name = line.partition("(")[0].rpartition(".")
        value = getattr(sys.modules.get(package), name, None)
        if not callable(value):
            continue
        most = (
            120 if hasattr(value, "metric") else 200 if inspect.isclass(value) else 150
        )
        assert len((inspect.getdoc(value) or "").splitlines()) <= most, line


def test_packages_are_attributes_as_those_of_scikit_learn_are():
    found = {name for _, name, _ in pkgutil.iter_modules(skfair.__path__)}
    packages = {name for name in found if not name.startswith("_")}
    assert set(dir(skfair)) == packages - {"torch"} | {"__version__"}
    assert all(hasattr(skfair, name) for name in dir(skfair))
    assert skfair.__getattr__("metrics") is importlib.import_module("skfair.metrics")
    assert not hasattr(skfair, "metric")
    assert not hasattr(skfair, "mcdp")


@pytest.mark.parametrize(
    ("guess", "error", "message"),
    [
        ("get_fairness_scorer('mcpd')", ValueError, "Did you mean 'neg_mcdp'"),
        (
            "group_metrics('precis', [1], [1], sensitive_features=[1])",
            ValueError,
            "mean 'precision_score'",
        ),
        ("rows_to_certify(0.1, 2)", ValueError, r"pass \[0.5, 0.5\]"),
        ("certify(mcdp, None, [0.5])", TypeError, "'at_most'"),
    ],
)
def test_a_wrong_guess_is_told_what_to_type(guess, error, message):
    names = {
        "skfair": skfair,
        "mcdp": skfair.metrics.mcdp,
        "certify": skfair.metrics.certify,
        "get_fairness_scorer": skfair.metrics.get_fairness_scorer,
        "group_metrics": skfair.metrics.group_metrics,
        "rows_to_certify": skfair.sampling.rows_to_certify,
    }
    with pytest.raises(error, match=message):
        eval(guess, names)


@pytest.mark.parametrize("package", ["metrics", "inprocessing", "postprocessing"])
def test_names_of_other_libraries_are_no_attributes(package):
    module = importlib.import_module(f"skfair.{package}")
    for name in ("demographic_parity_ratio", "MetricFrame", "ThresholdOptimizer"):
        assert not hasattr(module, name)
        with pytest.raises(ImportError, match=f"cannot import name '{name}'"):
            exec(f"from skfair.{package} import {name}")


def described(documentation):
    """Names and types of the parameters and attributes that a docstring describes."""
    sections = re.split(r"^(.+)\n-{3,}$", documentation, flags=re.M)
    texts = dict(zip(sections[1::2], sections[2::2], strict=True))
    found = {}
    for section in ("Parameters", "Attributes"):
        for names, kind in re.findall(
            r"^([\w*, ]+?)(?: : (.*))?$", texts.get(section, ""), flags=re.M
        ):
            found |= {name.lstrip("*"): kind for name in names.split(", ")}
    return found


def stands_for(text, default):
    """Whether a docstring's text of a default is the default."""
    value = eval(text, {"inf": math.inf, "nan": math.nan})
    return value == default or repr(value) == repr(default)


def test_docstrings_give_every_parameter_its_type_and_default():
    wrong = []
    for line in public_lines():
        place, _, parameters = line.partition("(")
        package, name, *member = place.removeprefix("skfair.").split(".")
        # Made by other functions alone, and PyTorch's, which needs an extra.
        if not parameters or name == "FairnessScorer" or package == "torch":
            continue
        value = getattr(importlib.import_module(f"skfair.{package}"), name)
        value = getattr(value, *member) if member else value
        found = described(inspect.getdoc(value))
        for parameter in inspect.signature(value).parameters.values():
            if parameter.name.startswith("_") or parameter.name == "self":
                continue
            kind = found.get(parameter.name)
            if not kind:
                wrong.append(f"{parameter.name} of {place} is not in its docstring")
            stated = re.search(r"default=(.*)", kind or "")
            if stated and not stands_for(stated[1], parameter.default):
                default = f"{parameter.default!r}, and {stated[1]} in its docstring"
                wrong.append(f"{parameter.name} of {place} has the default {default}")
    assert not wrong, "\n".join(["", *wrong])


if __name__ == "__main__":
    FILE.write_text("\n".join(public_lines()) + "\n", encoding="utf-8")
