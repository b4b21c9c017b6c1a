"""Reindex: another model, interruptions, texts that wait; and that nothing is ever embedded twice."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tiny_model
from running import environment

from index import builtwith, database, store, vectors
from index.matrix import Matrix
from kb import preferences, switch
from kb.add import Silent, add_paths
from kb.candidates import Request
from kb.compact import compact
from kb.doctor import doctor
from kb.reindex import reindex
from kb.remove import remove
from kb.search import Request as Query
from kb.search import search
from kb.settings import Embedding, Settings
from models.errors import ModelMissing

COUNT = 14
"""Texts, so few that no process is started to read them; a commit is eight where the model is given one at a time."""


@pytest.fixture
def model(tmp_path):
    """A folder of this test's own, which it may take away."""
    return tiny_model.write_model(tmp_path / "model")


@pytest.fixture
def wider(tmp_path):
    return tiny_model.write_model(tmp_path / "wider", dim=6)


@pytest.fixture
def files(tmp_path):
    folder = tmp_path / "documents"
    folder.mkdir()
    for number in range(COUNT):
        (folder / f"{number}.txt").write_text(f"red {'green ' * (number % 7)} word{number}")
    return folder


def using(folder):
    return Settings(embedding=Embedding(model=None if folder is None else str(folder), batch_size=1, threads=1))


def add(data_dir, files, folder, **options):
    return add_paths(data_dir, using(folder), Request(paths=(files,), recursive=True, **options), Silent())


@pytest.fixture
def filled(data_dir, files, model):
    add(data_dir, files, model)
    return data_dir


class Bar:
    """What a progress bar gets to know; `at_advance` is done each time."""

    def __init__(self, at_advance=lambda: None):
        self.total, self.done, self.at_advance = None, 0, at_advance

    def start(self, total):
        self.total = total

    def advance(self, count):
        self.done += count
        self.at_advance()


def interrupt():
    raise KeyboardInterrupt


def switch_to(data_dir, before, after, bar=None):
    return reindex(data_dir, using(before), str(after), bar or Bar(), {})


def built(data_dir):
    with store.reading(data_dir) as reader:
        return builtwith.built_with(reader.connection)


def is_sound(data_dir, folder):
    answer = doctor(data_dir, using(folder), fix=False)
    print([check for check in answer.checks if not check.ok])
    return answer.ok


def found(data_dir, folder, query="red"):
    [answer] = search(data_dir, using(folder), [Query(query=query, mode="semantic", top=2 * COUNT)])
    return [(hit.chunk_id, hit.score) for hit in answer.results]


def test_a_switch_makes_every_vector_anew_and_the_store_knows_its_new_model(filled, model, wider):
    bar = Bar()
    answer = switch_to(filled, model, wider, bar)
    assert (answer.embedded, answer.reused, answer.previous_model) == (COUNT, 0, str(model))
    assert (bar.total, bar.done) == (COUNT, COUNT)
    assert (built(filled).model_name, built(filled).embedding_dim) == (str(wider), 6)
    assert Matrix.open(filled / "matrix").vectors.shape == (COUNT, 6)
    assert is_sound(filled, None)


def test_a_switched_store_answers_as_one_that_was_built_with_the_model(filled, model, wider, tmp_path, files):
    switch_to(filled, model, wider)
    add(tmp_path / "built", files, wider)
    assert found(filled, wider) == found(tmp_path / "built", wider)


def test_an_interrupted_switch_serves_the_old_model_and_goes_on_where_it_was(filled, model, wider):
    """One commit is eight texts: the first is kept."""
    before = found(filled, model)
    with pytest.raises(KeyboardInterrupt):
        switch_to(filled, model, wider, Bar(interrupt))
    assert built(filled).model_name == str(model)
    assert found(filled, model) == before
    assert is_sound(filled, model)
    answer = switch_to(filled, model, wider)
    assert (answer.embedded, answer.reused) == (COUNT - 8, 8)
    assert is_sound(filled, wider)


def test_what_is_added_while_a_switch_runs_is_in_the_new_matrix_too(filled, model, wider, tmp_path):
    """Another process adds with the old model, as long as it is the store's."""
    late = tmp_path / "late"
    late.mkdir()
    (late / "late.txt").write_text("red green late")
    bar = Bar(lambda: add(filled, late, model))
    assert switch_to(filled, model, wider, bar).embedded == COUNT + 1
    assert Matrix.open(filled / "matrix").live_count == COUNT + 1
    assert is_sound(filled, wider)


def test_switching_back_needs_no_model_call(filled, model, wider):
    """The old vectors stay until `kb compact`."""
    before = found(filled, model)
    switch_to(filled, model, wider)
    answer = switch_to(filled, wider, model)
    assert (answer.embedded, answer.reused) == (0, COUNT)
    assert found(filled, model) == before


def test_a_missing_model_changes_nothing(filled, model, tmp_path):
    with pytest.raises(ModelMissing):
        switch_to(filled, model, tmp_path / "nowhere")
    assert built(filled).model_name == str(model)
    assert is_sound(filled, model)


def test_texts_added_without_a_model_wait_and_are_completed(filled, model, tmp_path, files):
    model.rename(tmp_path / "away")
    (files / "new.txt").write_text("green newcomer")
    answer = add(filled, files, model)
    assert (answer.added, answer.embedded) == (1, 0)
    assert "kb reindex" in answer.warnings[0]
    (tmp_path / "away").rename(model)
    assert reindex(filled, using(model), None, Bar(), {}).embedded == 1
    assert len(found(filled, model)) == COUNT + 1
    assert is_sound(filled, model)


def test_nothing_to_do_is_done_without_opening_the_model(filled, model):
    """In a process that did open it, onnxruntime would be loaded."""
    code = (
        "import sys; from kb.cli.door import run; code = run(['reindex', '-j']);"
        " print('onnxruntime' in sys.modules, code, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment(filled, KB_MODEL=model),
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout)["embedded"] == 0
    assert done.stderr == "False 0\n"


@pytest.mark.parametrize("deleted", [("matrix",), ("lexical",), ("matrix", "lexical")])
def test_deleted_projections_come_back_without_a_text_embedded_again(filled, model, files, tmp_path, deleted):
    """There is no model while they do; the answers are what they were, and adding the same files embeds nothing."""
    before = found(filled, model)
    for name in deleted:
        shutil.rmtree(filled / name)
    model.rename(tmp_path / "away")
    [answer] = search(filled, using(model), [Query(query="word7", mode="keyword", top=5)])
    assert [hit.text.split()[-1] for hit in answer.results] == ["word7"]
    with store.writing(filled) as writer:
        assert vectors.waiting_count(writer.connection, builtwith.built_with(writer.connection).model_key) == 0
    assert Matrix.open(filled / "matrix").live_count == COUNT
    (tmp_path / "away").rename(model)
    assert found(filled, model) == before
    assert add(filled, files, model).embedded == 0
    assert is_sound(filled, model)


def test_a_removed_document_that_comes_back_is_not_embedded_again(filled, model, files):
    remove(filled, [str(files / "3.txt")], lock_timeout_s=1)
    answer = add(filled, files, model)
    assert (answer.added, answer.embedded) == (1, 0)
    assert is_sound(filled, model)


def test_a_changed_document_embeds_only_what_changed(filled, model, files):
    (files / "3.txt").write_text("something else")
    assert add(filled, files, model, replace=True).embedded == 1


def test_the_configuration_that_named_the_old_model_names_the_new_one(filled, model, wider, kb):
    """And nothing else of the file changes, its comments included."""
    text = "# mine\nembedding:\n  threads: 1  # one core\n  model: {}  # small\nsearch: {{default_top: 3}}\n"
    (filled / "config.yaml").write_text(text.format(model))
    ran = kb("reindex", "--model", wider, "-j")
    assert (ran.code, ran.json["warnings"]) == (0, [f"config.yaml: embedding.model is now {wider}"])
    assert (filled / "config.yaml").read_text() == text.format(f'"{wider}"')
    assert kb("search", "red", "--mode", "semantic", "-j").json["returned"] == 3


def test_a_link_to_the_configuration_stays_a_link(filled, model, wider, kb, tmp_path):
    """People keep such files in one place under version control."""
    (tmp_path / "mine.yaml").write_text(f"embedding: {{model: {model}}}\n")
    (filled / "config.yaml").symlink_to(tmp_path / "mine.yaml")
    assert kb("reindex", "--model", wider, "-j").code == 0
    assert (filled / "config.yaml").is_symlink()
    assert str(wider) in (tmp_path / "mine.yaml").read_text()


def test_a_variable_that_names_the_old_model_is_pointed_out(filled, model, wider, kb):
    ran = kb("reindex", "--model", wider, "-j", KB_MODEL=model)
    assert ran.json["warnings"] == [f"KB_MODEL still says {model}: unset it, or set it to {wider}"]


@pytest.mark.parametrize("arguments", [("search", "red", "-j"), ("add", "--note", "green", "-j")])
def test_another_model_than_the_store_s_is_an_error_that_names_both_and_the_command(
    filled, model, wider, kb, arguments
):
    ran = kb(*arguments, KB_MODEL=wider)
    error = ran.json["error"]
    assert (ran.code, error["code"]) == (5, "ModelMismatch")
    assert str(model) in error["message"]
    assert str(wider) in error["message"]
    assert f"kb reindex --model {wider}" in error["hint"]


def test_the_vectors_of_two_models_lie_side_by_side(filled, model, wider):
    """Until `kb compact`, each text has one of each."""
    with pytest.raises(KeyboardInterrupt):
        switch_to(filled, model, wider, Bar(interrupt))
    with store.reading(filled) as reader:
        sizes = reader.connection.execute("SELECT length(vector) / 4, count(*) FROM vectors GROUP BY 1").fetchall()
        assert sizes == [(4, COUNT), (6, 8)]
        assert np.allclose(np.linalg.norm(reader.matrix().vectors, axis=1), 1, atol=1e-6)


# config.yaml follows


def write_config(data_dir, model):
    (data_dir / "config.yaml").write_text(f"embedding: {{model: {model}, batch_size: 1, threads: 1}}\n")


def named_in(data_dir):
    return preferences.load(data_dir, {}).settings.embedding.model


@pytest.fixture
def cut_short(filled, model, wider):
    """A store as a kill leaves it right after the switch: config.yaml still names the old model."""
    write_config(filled, model)
    with (filled / "config.yaml").open() as file:
        text = file.read()
    switch_to(filled, model, wider)
    (filled / "config.yaml").write_text(text)
    with store.writing(filled) as writer, writer.transaction():
        database.write_config(writer.connection, {switch.SWITCHED_FROM: str(model)})
    return filled


def left_behind(data_dir):
    with store.reading(data_dir) as reader:
        return database.read_config(reader.connection).get(switch.SWITCHED_FROM)


@pytest.mark.parametrize(
    "command",
    [
        ("search", "red", "--mode", "semantic", "-j"), ("add", "--note", "green", "-j"), ("remove", "1", "-j"), ("compact", "-j"),
        ("doctor", "-j"), ("status", "-j"), ("config", "-j"), ("reindex", "-j"),
    ],
)  # fmt: skip
def test_any_command_finishes_a_switch_that_was_cut_short(cut_short, wider, kb, command):
    """And does what it is asked to do, with the new model."""
    ran = kb(*command)
    assert ran.code == 0, ran
    assert named_in(cut_short) == str(wider)
    assert left_behind(cut_short) is None
    assert built(cut_short).model_name == str(wider)


def test_a_switch_that_was_cut_short_after_the_file_had_been_edited_is_finished_too(cut_short, wider, kb):
    write_config(cut_short, wider)
    assert kb("search", "red", "--mode", "semantic", "-j").code == 0
    assert (named_in(cut_short), left_behind(cut_short)) == (str(wider), None)


def test_while_somebody_writes_the_old_name_means_the_new_model_and_the_file_waits(cut_short, model, wider, kb):
    with store.writing(cut_short):
        assert kb("search", "red", "--mode", "semantic", "-j").json["returned"] == 10
    assert named_in(cut_short) == str(model)
    assert kb("search", "red", "--mode", "semantic", "-j").code == 0
    assert named_in(cut_short) == str(wider)


def test_a_name_in_the_environment_means_what_it_says(cut_short, model, kb):
    """Whatever the file has to follow."""
    assert kb("search", "red", "-j", KB_MODEL=model).json["error"]["code"] == "ModelMismatch"


def test_a_switch_with_a_variable_that_names_the_old_model_edits_the_file_and_points_the_variable_out(
    filled, model, wider, kb
):
    write_config(filled, model)
    ran = kb("reindex", "--model", wider, "-j", KB_MODEL=model)
    assert named_in(filled) == str(wider)
    assert len(ran.json["warnings"]) == 2
    assert ran.json["warnings"][1] == f"KB_MODEL still says {model}: unset it, or set it to {wider}"


def test_who_has_edited_the_file_meanwhile_is_obeyed(cut_short, model, wider, kb, tmp_path):
    """Another name is not the one left behind; and when the old name comes back later, it means the old model."""
    other = tiny_model.write_model(tmp_path / "other", dim=5)
    write_config(cut_short, other)
    assert kb("search", "red", "-j").json["error"]["code"] == "ModelMismatch"
    assert named_in(cut_short) == str(other)
    write_config(cut_short, model)
    assert kb("search", "red", "-j").json["error"]["code"] == "ModelMismatch"
    assert built(cut_short).model_name == str(wider)


def test_a_file_that_cannot_be_written_keeps_its_name_and_that_means_the_new_model(filled, model, wider, kb):
    """A folder lies where the new file would be written. Going back to the old model gives the name its meaning again."""
    write_config(filled, model)
    (filled / "config.yaml.new").mkdir()
    [warning] = kb("reindex", "--model", wider, "-j").json["warnings"]
    assert warning.startswith(f"{filled / 'config.yaml'} cannot be written")
    assert f"as long as it says {model}, that means {wider}" in warning
    for _ in range(2):
        assert kb("doctor", "-j").code == 0
        assert kb("search", "red", "--mode", "semantic", "-j").json["returned"] == 10
    assert kb("reindex", "--model", model, "-j").json["warnings"] == []
    assert (built(filled).model_name, named_in(filled), left_behind(filled)) == (str(model), str(model), None)
    assert kb("doctor", "-j").code == 0


def test_the_old_model_may_be_gone_when_the_file_follows(filled, model, wider, kb, tmp_path):
    write_config(filled, model)
    model.rename(tmp_path / "away")
    assert kb("reindex", "--model", wider, "-j").json["warnings"] == [f"config.yaml: embedding.model is now {wider}"]


# Another model in the same folder


@pytest.fixture
def replaced(filled, model, tmp_path):
    """Another model of the same size, put where the store's own was."""
    shutil.move(model, tmp_path / "old")
    tiny_model.write_model(model, quantised=True)
    return filled


def test_another_model_in_the_same_folder_is_an_error_that_names_the_command(replaced, model, kb):
    error = kb("search", "red", "-j", KB_MODEL=model).json["error"]
    assert error["code"] == "ModelMismatch"
    assert f"built with other files of {model}" in error["message"]
    assert "kb reindex" in error["hint"]


def test_that_command_makes_every_vector_anew(replaced, model, kb, files, tmp_path):
    assert kb("reindex", "-j").json["embedded"] == COUNT
    add(tmp_path / "built", files, model)
    assert found(replaced, model) == found(tmp_path / "built", model)
    assert is_sound(replaced, None)


def test_the_old_files_put_back_serve_at_once(replaced, model, tmp_path):
    shutil.rmtree(model)
    shutil.copytree(tmp_path / "old", model)
    assert is_sound(replaced, model)
    assert len(found(replaced, model)) == COUNT


# Compaction in between


def test_a_compaction_keeps_what_an_interrupted_switch_has_made(filled, model, wider):
    with pytest.raises(KeyboardInterrupt):
        switch_to(filled, model, wider, Bar(interrupt))
    [warning] = compact(filled, vacuum=False, lock_timeout_s=1).warnings
    assert str(wider) in warning
    assert switch_to(filled, model, wider).reused == 8


def test_a_switch_that_was_given_up_is_forgotten_by_the_next_compaction(filled, model, wider):
    with pytest.raises(KeyboardInterrupt):
        switch_to(filled, model, wider, Bar(interrupt))
    reindex(filled, using(model), None, Bar(), {})
    answer = compact(filled, vacuum=False, lock_timeout_s=1)
    assert (answer.vectors_purged, answer.warnings) == (8, ())


def test_the_old_model_s_vectors_go_with_the_compaction_after_a_switch(filled, model, wider):
    switch_to(filled, model, wider)
    answer = compact(filled, vacuum=False, lock_timeout_s=1)
    assert (answer.vectors_purged, answer.warnings) == (COUNT, ())
