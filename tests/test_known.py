"""The files that a walk is known to come to: those that are as they were are left out, in whatever order they are met."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from kb.known import NEVER, Known
from kb.walk import Rules, Walk


def known(*rows: tuple[str, int, int], apart: tuple[str, ...] = ()) -> Known:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE files (path, mtime_ns, size)")
    connection.executemany("INSERT INTO files VALUES (?, ?, ?)", rows)
    return Known(connection.execute("SELECT * FROM files ORDER BY path"), apart=apart)


def written(folder: Path, *names: str) -> list[tuple[str, int, int]]:
    """Files of four bytes, as they are remembered."""
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("text")
    return [(str(folder / name), (folder / name).stat().st_mtime_ns, 4) for name in names]


def walked(folder: Path, files: Known, **rules: object) -> list[str]:
    """What is to be looked at more closely, relative to the folder."""
    walk = Walk(Rules(**{"recursive": True, **rules}), avoid=Path("/nowhere"), known=files)
    return [os.path.relpath(path, folder) for batch in walk.below(str(folder)) for path, _ in batch]


def left(folder: Path, files: Known) -> set[str]:
    return {os.path.relpath(path, folder) for path in files.unmet()}


def test_files_that_are_as_they_were_are_left_out_and_others_are_not(tmp_path):
    """Another time, another size, not for everybody to read, no file any more, ignored by now: each is looked at again."""
    names = ("same.md", "sub/same.md", "later.md", "longer.md", "private.md", "link.md", "folder.md", "ignored.md")
    rows = written(tmp_path, *names)
    os.utime(tmp_path / "later.md", (1, 1))
    (tmp_path / "longer.md").write_text("longer")
    os.utime(tmp_path / "longer.md", ns=(1, rows[names.index("longer.md")][1]))
    (tmp_path / "private.md").chmod(0o600)
    (tmp_path / "link.md").unlink()
    (tmp_path / "link.md").symlink_to(tmp_path / "same.md")
    (tmp_path / "folder.md").unlink()
    written(tmp_path, "folder.md/new.md", "new.md")
    (tmp_path / ".gitignore").write_text("ignored.md")
    files = known(*rows)

    found = walked(tmp_path, files)

    assert found == ["folder.md/new.md", "later.md", "longer.md", "new.md", "private.md"]
    assert (files.unchanged_count, files.count) == (2, 8)
    assert left(tmp_path, files) == {*names} - {"same.md", "sub/same.md"}


def test_a_file_that_the_globs_do_not_mean_any_more_is_not_met(tmp_path):
    files = known(*written(tmp_path, "a.md", "b.txt"))

    assert walked(tmp_path, files, globs=("*.md",)) == []
    assert left(tmp_path, files) == {"b.txt"}


def test_files_are_met_in_whatever_order_they_come(tmp_path):
    """Names sort otherwise than paths do (`a-b.md`, `a/b.md`), and a folder's files are met before those of folders between them."""
    names = [f"{folder}{number}.md" for number in range(70) for folder in ("", "a/", "a-b/", "a/b/", "z/", "é/", "😀/")]
    files = known(*written(tmp_path, *names, "gone.md"))
    (tmp_path / "gone.md").unlink()

    assert walked(tmp_path, files) == []
    assert (files.unchanged_count, left(tmp_path, files)) == (490, {"gone.md"})


def test_a_file_kept_apart_is_looked_at_though_it_is_as_it_was(tmp_path):
    [row] = written(tmp_path, "a.md")
    files = known(row, apart=(row[0],))

    assert walked(tmp_path, files) == ["a.md"]
    assert files.take(row[0]) == row
    assert files.unmet() == []


def test_of_a_file_of_several_rows_nobody_knows_what_it_was(tmp_path):
    """Wherever among many they come: they are read in batches."""
    rows = written(tmp_path, *(f"{number:03}.md" for number in range(250)))
    files = known(*rows, *((path, 1, 1) for path, _, _ in rows))

    assert len(walked(tmp_path, files)) == 250
    assert [files.take(path) for path, _, _ in rows] == [(path, NEVER, NEVER) for path, _, _ in rows]
    assert (files.unmet(), files.count) == ([], 500)
