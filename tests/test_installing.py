"""Wheels as pip builds and installs them, into environments of their own: with a C compiler, without one, and editable.

Their packages are those of this environment, so nothing is fetched.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest
from running import Ran, environment

from kb import __version__

ROOT = Path(__file__).parents[1]
BASICS = ("sh", "readlink", "uname")
"""All that a fresh machine without a compiler is sure to have, as far as pip, Python and the script need it."""

pytestmark = [
    pytest.mark.skipif(find_spec("hatchling") is None, reason="hatchling is not installed (lock/build.txt)"),
    pytest.mark.skipif(find_spec("pip") is None, reason="pip is not installed"),
]


@pytest.fixture(scope="module")
def bare_path(tmp_path_factory):
    """A PATH on which there is no compiler."""
    folder = tmp_path_factory.mktemp("basics")
    for name in BASICS:
        (folder / name).symlink_to(shutil.which(name))
    return str(folder)


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    """Have pip build the wheel of this tree, or whatever its arguments say; returns it and what was said."""

    def run(**variables: str) -> tuple[Path, str]:
        folder = tmp_path_factory.mktemp("wheel")
        said = pip("wheel", "--verbose", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, ROOT, **variables)
        (wheel,) = folder.iterdir()
        return wheel, said

    return run


@pytest.fixture(scope="module")
def compiled(build):
    if not any(map(shutil.which, ("cc", "gcc", "clang"))):
        pytest.skip("no C compiler here")
    return build()


@pytest.fixture(scope="module")
def scripted(build, bare_path):
    return build(PATH=bare_path)


@pytest.fixture(params=["compiled", "scripted"])
def built(request):
    return request.getfixturevalue(request.param)[0]


@pytest.fixture
def install(tmp_path):
    """Install into a new environment whose path has spaces; returns the folder of its programs."""

    def run(*what: object) -> Path:
        folder = tmp_path / "an environment of mine"
        venv.create(folder, symlinks=True)
        python = folder / "bin/python"
        purelib = subprocess.run(
            [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
            capture_output=True,
            text=True,
            check=True,
        )
        Path(purelib.stdout.strip(), "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
        pip("--python", python, "install", "--no-deps", "--no-build-isolation", *what)
        return folder / "bin"

    return run


def pip(*arguments: object, **variables: str) -> str:
    clean = {name: value for name, value in os.environ.items() if name != "CC"}
    done = subprocess.run(
        [sys.executable, "-m", "pip", "--disable-pip-version-check", *map(str, arguments)],
        env={**clean, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def ran(program: object, *arguments: str, data_dir: Path, **variables: object) -> Ran:
    """Run it from the root folder, where no kb lies about."""
    done = subprocess.run(
        [program, *arguments],
        env=environment(data_dir, **variables),
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def test_with_a_compiler_the_wheel_holds_a_program_for_this_platform(compiled):
    wheel, _ = compiled
    with zipfile.ZipFile(wheel) as archive:
        program = archive.read(f"kb_search-{__version__}.data/scripts/kb")
        assert not [name for name in archive.namelist() if "launcher" in name or "entry_points" in name]
        assert "Root-Is-Purelib: false" in archive.read(f"kb_search-{__version__}.dist-info/WHEEL").decode()
        has_native = "index/libnative.so" in archive.namelist()
    assert has_native == ((sys.platform, platform.machine()) == ("linux", "x86_64"))
    assert not program.startswith(b"#!")
    assert wheel.name.startswith(f"kb_search-{__version__}-py3-none-")
    assert not wheel.name.endswith("-any.whl")


@pytest.mark.parametrize("compiler", [None, "false"])
def test_without_a_compiler_that_works_the_wheel_is_for_all_and_one_line_says_so(build, bare_path, compiler):
    wheel, said = build(PATH=bare_path) if compiler is None else build(CC=compiler)
    with zipfile.ZipFile(wheel) as archive:
        script = archive.read(f"kb_search-{__version__}.data/scripts/kb")
        assert "index/libnative.so" not in archive.namelist()
    assert script == (ROOT / "kb/launcher.sh").read_bytes()
    assert wheel.name == f"kb_search-{__version__}-py3-none-any.whl"
    assert said.count("kb is started by a shell script") == 1


@pytest.mark.heavy
def test_an_installed_kb_works_without_a_compiler_from_anywhere(
    built, install, bare_path, data_dir, tmp_path, tiny_folder
):
    """By its path, by a link as pipx makes it, and by name; and `search` as well as what is never forwarded."""
    kb = install(built) / "kb"
    link = tmp_path / "local bin/kb"
    link.parent.mkdir()
    link.symlink_to(kb)
    note = tmp_path / "note.md"
    note.write_text("# Apples\n\nAn apple is red.\n")
    here = {"data_dir": data_dir, "KB_MODEL": tiny_folder, "PATH": bare_path}

    assert ran(kb, "--version", **here) == (0, f"{__version__}\n", "")
    assert ran(link, "add", str(note), **here).code == 0
    found = ran(
        "sh", "-c", 'kb search -j --mode keyword "$1"', "sh", "apple", **here | {"PATH": f"{link.parent}:{bare_path}"}
    )
    assert (found.code, len(found.json["results"])) == (0, 1)
    assert ran(link, "status", "-j", **here).json["documents"] == 1
    assert ran(link, "get", "99", **here).code == 3


@pytest.mark.heavy
def test_an_editable_installation_works(install, data_dir):
    kb = install("--editable", ROOT) / "kb"
    assert ran(kb, "--version", data_dir=data_dir) == (0, f"{__version__}\n", "")
    assert ran(kb, "list", "-j", data_dir=data_dir).json["error"]["code"] == "StoreMissing"


@pytest.mark.heavy
def test_a_copy_of_the_program_finds_python_on_path(built, install, data_dir, tmp_path, bare_path):
    """As after pip install --user, where no Python lies beside it."""
    folder = install(built)
    copy = shutil.copy(folder / "kb", tmp_path / "kb")
    path = f"{folder}:{bare_path}"
    assert ran(copy, "--version", data_dir=data_dir, PATH=path) == (0, f"{__version__}\n", "")


def test_a_source_distribution_has_what_the_launcher_is_made_of(tmp_path):
    command = [sys.executable, "-m", "hatchling", "build", "--target", "sdist", "--directory", tmp_path]
    subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    (archive,) = tmp_path.iterdir()
    unpacked = tmp_path / "unpacked"
    shutil.unpack_archive(archive, unpacked, filter="data")
    names = {path.relative_to(unpacked / f"kb_search-{__version__}").as_posix() for path in unpacked.rglob("*")}
    assert names >= {
        "hatch_build.py",
        "kb/bare.h",
        "kb/launcher.c",
        "kb/launcher.sh",
        "kb/launch.py",
        "index/native.c",
        "index/store.py",
        "models/spec.py",
    }
