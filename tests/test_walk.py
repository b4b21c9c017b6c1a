"""The walk: which files a directory stands for, with the rules of git and our own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from unprivileged import permissions_hold

from kb.errors import BadRequest, NotFound
from kb.walk import Rules, Walk


@pytest.fixture
def tree(tmp_path):
    """Make files, `path: content`; returns the folder."""

    def make(**files: str) -> Path:
        for name, content in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        return tmp_path

    return make


def walked(*paths: Path, avoid: Path = Path("/nowhere"), **rules: object) -> tuple[list[str], Walk]:
    """The files found, relative to the first path, and the walk itself."""
    walk = Walk(Rules(**{"recursive": True, **rules}), avoid=avoid)
    found = [os.path.relpath(path, paths[0]) for path, _ in walk.files(paths)]
    return found, walk


def test_every_supported_file_is_found_in_the_order_of_names(tree):
    folder = tree(**{"b.md": "", "a/z.txt": "", "a/a.md": "", "c.xyz": "", "d": ""})

    found, walk = walked(folder)

    assert found == ["a/a.md", "a/z.txt", "b.md"]
    assert walk.unsupported == 2


def test_hidden_files_and_folders_are_passed_over(tree):
    assert walked(tree(**{".hidden.md": "", ".git/a.md": "", "a.md": ""}))[0] == ["a.md"]


def test_a_hidden_file_that_is_named_is_taken(tree):
    folder = tree(**{".hidden.md": ""})

    assert walked(folder / ".hidden.md")[0] == ["."]


def test_gitignore_holds_below_its_folder_and_a_nested_one_outweighs_it(tree):
    folder = tree(**{
        ".gitignore": "*.txt\n/build/\nnotes/**/draft.md\n",
        "a.md": "", "a.txt": "", "build/b.md": "", "sub/build/c.md": "", "notes/x/draft.md": "", "notes/x/final.md": "",
        "keep/.gitignore": "!*.txt\nsecret.txt\n", "keep/d.txt": "", "keep/secret.txt": "",
    })  # fmt: skip

    found, walk = walked(folder)

    assert found == ["a.md", "keep/d.txt", "notes/x/final.md", "sub/build/c.md"]
    assert walk.ignored == 4


def test_a_file_below_an_ignored_folder_cannot_be_taken_back(tree):
    """As in git."""
    folder = tree(**{".gitignore": "build/\n!build/keep.md\n", "build/keep.md": "", "a.md": ""})

    assert walked(folder)[0] == ["a.md"]


def test_a_negated_pattern_takes_back(tree):
    folder = tree(**{".gitignore": "*.md\n!README.md\n", "README.md": "", "other.md": ""})

    assert walked(folder)[0] == ["README.md"]


def test_kbignore_is_read_after_gitignore(tree):
    folder = tree(**{".gitignore": "*.txt\n", ".kbignore": "!a.txt\nb.md\n", "a.txt": "", "b.md": "", "c.md": ""})

    assert walked(folder)[0] == ["a.txt", "c.md"]


def test_the_gitignore_of_a_repository_above_holds(tree):
    folder = tree(**{"repo/.git/HEAD": "", "repo/.gitignore": "*.log\n", "repo/sub/a.md": "", "repo/sub/b.log": ""})

    assert walked(folder / "repo/sub")[0] == ["a.md"]


def test_a_gitignore_above_that_is_not_in_a_repository_does_not_hold(tree):
    folder = tree(**{".gitignore": "*.md\n", "sub/a.md": ""})

    assert walked(folder / "sub")[0] == ["a.md"]


def test_a_repository_inside_another_has_its_own_rules(tree):
    folder = tree(**{".git/HEAD": "", ".gitignore": "*.md\n", "inner/.git/HEAD": "", "inner/a.md": ""})

    assert walked(folder / "inner")[0] == ["a.md"]


def test_a_folder_that_is_named_outweighs_the_rules_above_that_leave_it_out(tree):
    folder = tree(**{".git/HEAD": "", ".gitignore": "build/\n*.log\n", "build/a.md": "", "build/b.log": ""})

    assert "a.md" in walked(folder / "build")[0]


def test_a_line_that_is_no_pattern_is_passed_over(tree):
    folder = tree(**{".gitignore": "!\n*.txt\n", "a.md": "", "b.txt": ""})

    assert walked(folder)[0] == ["a.md"]


def test_excludes_are_patterns_relative_to_the_folder_and_outweigh_all_files(tree):
    folder = tree(**{".gitignore": "!README.md\n", "README.md": "", "sub/a.md": "", "other/a.md": "", "b.txt": ""})

    found, walk = walked(folder, excludes=("README.md", "/sub/"))

    assert found == ["b.txt", "other/a.md"]
    assert walk.ignored == 2


def test_an_exclude_that_is_no_pattern_is_refused(tree):
    with pytest.raises(BadRequest, match="--exclude '!'"):
        walked(tree(**{"a.md": ""}), excludes=("!",))


def test_symbolic_links_are_reported_and_passed_over(tree):
    folder = tree(**{"a.md": "", "sub/b.md": ""})
    (folder / "link.md").symlink_to(folder / "a.md")
    (folder / "linked").symlink_to(folder / "sub")

    found, walk = walked(folder)

    assert found == ["a.md", "sub/b.md"]
    assert walk.skipped == [
        f"{folder}/link.md: symbolic link (--follow-symlinks follows it)",
        f"{folder}/linked: symbolic link (--follow-symlinks follows it)",
    ]


def test_links_are_followed_on_request_and_loops_are_not(tree, tmp_path_factory):
    folder = tree(**{"a.md": "", "sub/b.md": ""})
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "c.md").write_text("")
    (folder / "link.md").symlink_to(elsewhere / "c.md")
    (folder / "linked").symlink_to(elsewhere)
    (folder / "sub/up").symlink_to(folder)
    (folder / "nothing").symlink_to(folder / "gone")
    (folder / "self").symlink_to("self")

    found, walk = walked(folder, follow_symlinks=True)

    assert found == ["a.md", "link.md", "linked/c.md", "sub/b.md"]
    assert walk.skipped == [
        f"{folder}/nothing: symbolic link to nothing",
        f"{folder}/self: symbolic link to nothing",
        f"{folder}/sub/up: leads to a directory that was walked already",
    ]


def test_a_link_to_itself_is_only_a_link(tree):
    folder = tree(**{"a.md": ""})
    (folder / "self").symlink_to("self")

    assert walked(folder)[0] == ["a.md"]


@pytest.mark.parametrize(
    ("globs", "expected"),
    [
        (("*.txt",), ["a.txt", "sub/deep/c.txt"]), (("sub/",), ["sub/b.md", "sub/deep/c.txt"]),
        (("sub", "!*.txt"), ["sub/b.md"]), (("/*.md",), ["a.md"]), (("sub/**/*.txt", "a.md"), ["a.md", "sub/deep/c.txt"]),
    ],
)  # fmt: skip
def test_with_globs_only_files_that_they_mean_are_taken(tree, globs, expected):
    folder = tree(**{"a.md": "", "a.txt": "", "sub/b.md": "", "sub/deep/c.txt": ""})

    assert walked(folder, globs=globs)[0] == expected


def test_a_glob_that_is_no_pattern_is_refused(tree):
    with pytest.raises(BadRequest, match="--glob '!'"):
        walked(tree(**{"a.md": ""}), globs=("!",))


def test_a_folder_that_cannot_be_listed_is_said_and_remembered(tree):
    folder = tree(**{"a.md": "", "sub/b.md": ""})
    (folder / "sub").chmod(0)
    try:
        with permissions_hold():
            found, walk = walked(folder)
    finally:
        (folder / "sub").chmod(0o755)

    assert found == ["a.md"]
    assert walk.unseen == [f"{folder}/sub"]
    assert walk.skipped == [f"{folder}/sub: Permission denied"]


def test_a_file_is_taken_where_a_walk_comes_to_it(tree):
    """What `takes` says of single files is what a walk of all does."""
    files = {
        ".git/HEAD": "", ".gitignore": "*.log\nbuild/\n", "docs/a.md": "", "docs/b.log": "", "docs/build/c.md": "",
        "docs/.hidden/d.md": "", "docs/e.xyz": "", "docs/sub/.kbignore": "g.md", "docs/sub/f.md": "", "docs/sub/g.md": "",
        "docs/left/h.md": "", "docs/store/i.md": "",
    }  # fmt: skip
    folder = tree(**files) / "docs"
    (folder / "link.md").symlink_to(folder / "a.md")
    rules = Rules(recursive=True, excludes=("left/",))
    walk = Walk(rules, avoid=folder / "store")
    taken = {
        path for path in [*map(str, folder.rglob("*.*")), str(folder / "link.md")] if walk.takes(str(folder), path)
    }

    assert taken == {path for batch in Walk(rules, avoid=folder / "store").below(str(folder)) for path, _ in batch}
    assert {os.path.relpath(path, folder) for path in taken} == {"a.md", "sub/f.md"}


def test_a_directory_needs_recursive(tree):
    with pytest.raises(BadRequest, match="is a directory"):
        walked(tree(), recursive=False)


def test_a_path_that_is_not_there_is_refused_before_the_first_file(tree):
    folder = tree(**{"a.md": ""})
    files = Walk(Rules(recursive=True), avoid=Path("/nowhere")).files([folder, folder / "gone"])

    with pytest.raises(NotFound, match="gone: no such file"):
        next(files)


def test_a_pipe_is_refused(tree):
    folder = tree()
    os.mkfifo(folder / "pipe.md")

    with pytest.raises(BadRequest, match="not a regular file"):
        walked(folder / "pipe.md")
    assert walked(folder)[0] == []


def test_a_file_that_is_named_twice_is_found_once(tree):
    folder = tree(**{"a.md": ""})

    assert walked(folder, folder / "a.md", folder / "sub/../a.md")[0] == ["a.md"]


@pytest.mark.parametrize("name", ["store", "link"])
def test_our_own_data_is_never_entered(tree, name):
    folder = tree(**{"a.md": "", "store/config.yaml": ""})
    (folder / "link").symlink_to(folder / "store")

    assert walked(folder, avoid=folder / name)[0] == ["a.md"]


def test_with_a_type_given_files_of_any_name_are_taken(tree):
    assert walked(tree(**{"a.xyz": "", "b": ""}), any_type=True)[0] == ["a.xyz", "b"]
