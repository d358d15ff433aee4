"""The checks of the continuous integration, each in an environment of its own."""

import nox

nox.options.sessions = ["lint", "docs", "release", "tests"]
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.download_python = "auto"

#: Constraints on the dependencies, and the Python that goes with them.
OLDEST = ("3.11", ["-c", ".ci/oldest.txt"])
NEWEST = ("3.14", ["--upgrade"])


@nox.session(python=NEWEST[0])
def lint(session: nox.Session) -> None:
    """Style, types and the direction of imports."""
    session.install("-e", ".[test]", *NEWEST[1])
    session.run("bash", ".ci/lint", external=True)


@nox.session(python=NEWEST[0])
def docs(session: nox.Session) -> None:
    """Build the documentation, which runs the examples."""
    session.install("-e", ".[docs]", *NEWEST[1])
    session.run("bash", ".ci/docs", external=True)


@nox.session(python=NEWEST[0])
def release(session: nox.Session) -> None:
    """Build a wheel and a sdist, and try the wheel in a clean environment."""
    session.install("-e", ".[release]", *NEWEST[1])
    session.run("bash", ".ci/release", external=True)


@nox.session
@nox.parametrize(
    ("python", "versions"),
    [OLDEST, NEWEST],
    ids=["oldest", "newest"],
)
def tests(session: nox.Session, versions: list[str]) -> None:
    """All tests, with the oldest and the newest supported versions."""
    session.install("-e", ".[test]", *versions)
    session.run("bash", ".ci/test", external=True)
