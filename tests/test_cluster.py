"""`kb add --cluster`: a real scheduler and real workers as processes, some of which are killed, or are others than they should be."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from clusters import cluster, wait_until
from running import environment
from test_reading import BAD_READERS, KB, KINDS

pytest.importorskip("distributed", reason="the cluster extra is not installed")

SECRET = "ghp_" + "a1B2" * 9
STORED = {
    "documents": "SELECT title, source_path, content_hash, doc_type, language, modified_at, mtime_ns, size, extractor, metadata"
    " FROM documents ORDER BY id",
    "chunks": "SELECT document_id, chunk_index, text, heading, context, start_line, end_line, token_count, metadata, text_hash"
    " FROM chunks ORDER BY id",
    "vectors": "SELECT text_hash, model, vector, crc FROM vectors ORDER BY text_hash",
    "failures": "SELECT source_path, content_hash, kind, reason FROM failures",
}


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """A scheduler with two workers of two threads each: one guarded by the engine's nanny, one not."""
    from distributed import Client

    with cluster(tmp_path_factory.mktemp("cluster") / "cluster") as made:
        made.worker("--nanny")
        made.worker("--no-nanny")
        with Client(made.address, set_as_default=False) as client:
            client.wait_for_workers(2, timeout=60)
        yield made


def started(store: Path, model: Path, *arguments: object, cwd: Path, **variables: object) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", KB, "add", *map(str, arguments), "-j"],
        cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=environment(store, KB_MODEL=model, PYTHONPATH=BAD_READERS, **variables),
    )  # fmt: skip


def added(store: Path, model: Path, *arguments: object, cwd: Path, **variables: object):
    process = started(store, model, *arguments, cwd=cwd, **variables)
    output, error = process.communicate()
    assert error == b""
    return process.returncode, json.loads(output)


def stored(store: Path):
    with sqlite3.connect(store / "kb.db") as connection:
        return {name: connection.execute(query).fetchall() for name, query in STORED.items()}


def mixed(folder: Path) -> Path:
    """Files of all light kinds, one with a secret, one that kills its reader and one that holds no text."""
    folder.mkdir()
    for number in range(24):
        suffix, text = list(KINDS.items())[number % len(KINDS)]
        (folder / f"{number:02}{suffix}").write_text(text.format(number))
    (folder / "secret.md").write_text(f"# Token\n\nThe token is {SECRET} and the red one is huge.\n")
    (folder / "bad.die").write_text("dies")
    (folder / "empty.md").write_text("")
    return folder


def test_two_workers_make_the_store_that_one_process_makes(two, tmp_path, tiny_folder):
    """Documents in the same order, texts without their secrets, vectors to the last bit, and the same failures."""
    docs = mixed(tmp_path / "docs")
    here, there = tmp_path / "here", tmp_path / "there"

    code, local = added(here, tiny_folder, docs, "-r", cwd=tmp_path)
    assert (code, local["added"], local["failed"], local["redacted"]) == (7, 25, 1, 1)
    code, far = added(there, tiny_folder, docs, "-r", "--cluster", two.address, cwd=tmp_path)
    assert code == 7
    assert {**far, "took_ms": 0} == {**local, "took_ms": 0}

    assert stored(there) == stored(here)
    assert SECRET.encode() not in b"".join(path.read_bytes() for path in two.folder.rglob("*") if path.is_file())


@pytest.mark.heavy
def test_contents_are_sent_to_workers_that_do_not_have_the_files(two, tmp_path, tiny_folder):
    """`/proc/self/cwd` is another folder in each process; the store names the files as they are called here."""
    docs = mixed(tmp_path / "docs")
    (docs / "bad.die").unlink()
    path = "/proc/self/cwd/docs"
    here, there = tmp_path / "here", tmp_path / "there"
    added(here, tiny_folder, path, "-r", "--workers", 1, cwd=tmp_path)

    code, answer = added(there, tiny_folder, path, "-r", "--cluster", two.address, cwd=tmp_path)
    assert (code, answer["added"]) == (0, 25)
    assert stored(there) == stored(here)


def test_a_worker_killed_in_the_middle_loses_nothing(two, tmp_path, tiny_folder):
    """Its files in flight are read by the others. The contents are sent: `/proc/self/cwd` is another folder in each process."""
    docs = tmp_path / "docs"
    docs.mkdir()
    for number in range(24):
        (docs / f"{number:02}.dawdle").write_text(f"The red one is number {number}.")
    doomed = two.worker("--no-nanny")
    wait_until(lambda: "Registered to" in (two.folder / "worker-2" / "log").read_text())
    there = tmp_path / "there"
    adding = started(there, tiny_folder, "/proc/self/cwd/docs", "-r", "--cluster", two.address, cwd=tmp_path)
    wait_until((there / "kb.db").exists)

    doomed.send_signal(signal.SIGKILL)
    output, error = adding.communicate()
    assert (adding.returncode, error) == (0, b"")
    answer = json.loads(output)
    assert (answer["added"], answer["failed"], answer["warnings"]) == (24, 0, [])
    assert [Path(row[1]).name for row in stored(there)["documents"]] == [f"{number:02}.dawdle" for number in range(24)]


@pytest.mark.heavy
def test_a_file_that_hangs_its_reader_costs_itself(two, tmp_path, tiny_folder):
    """The limit holds on the worker; the file is named as it is called here, though its content was sent."""
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.hang").write_text("hangs")
    (docs / "b.md").write_text("The red one.")
    code, answer = added(
        tmp_path / "there", tiny_folder, "/proc/self/cwd/docs", "-r", cwd=tmp_path, KB_CLUSTER=two.address,
        KB_FILE_TIMEOUT_S=2,
    )  # fmt: skip
    assert (code, answer["added"], answer["failed"]) == (7, 1, 1)
    assert answer["documents"][0]["reason"].startswith("/proc/self/cwd/docs/a.hang: took longer than 2 s to read")


@pytest.mark.heavy
def test_ctrl_c_ends_the_reading_on_the_workers_too(two, tmp_path, tiny_folder):
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.hang").write_text("hangs")
    adding = started(tmp_path / "there", tiny_folder, docs, "-r", "--cluster", two.address, cwd=tmp_path)
    reader = tmp_path / "hanging.pid"
    wait_until(lambda: reader.exists() and reader.read_text())

    adding.send_signal(signal.SIGINT)
    adding.communicate()
    assert adding.returncode == 130
    wait_until(lambda: not Path("/proc", reader.read_text()).exists())


@pytest.mark.heavy
def test_workers_of_another_version_are_left_out_and_named(tmp_path, tiny_folder):
    other = tmp_path / "other"
    (other / "kb").mkdir(parents=True)
    (other / "kb" / "__init__.py").write_text('__version__ = "0.0.1"')
    (tmp_path / "a.md").write_text("The red one.")
    with cluster(tmp_path / "cluster") as made:
        made.worker("--no-nanny", path=other)
        wait_until(lambda: "Registered to" in (made.folder / "worker-0" / "log").read_text())
        code, answer = added(tmp_path / "there", tiny_folder, "a.md", "--cluster", made.address, cwd=tmp_path)
        assert code == 1
        assert "has kb 0.0.1, not" in answer["error"]["message"]
        assert not (tmp_path / "there").exists()


def certificate(folder: Path) -> dict[str, Path]:
    """One for all, signed by itself, as Dask's configuration names it."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kb")])
    now = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        .serial_number(1).not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )  # fmt: skip
    pem = folder / "all.pem"
    plain = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    pem.write_bytes(plain + signed.public_bytes(serialization.Encoding.PEM))
    names = ("CA_FILE", *(f"{role}__{part}" for role in ("SCHEDULER", "WORKER", "CLIENT") for part in ("CERT", "KEY")))
    return {f"DASK_DISTRIBUTED__COMM__TLS__{name}": pem for name in names}


@pytest.mark.heavy
def test_over_tls_with_the_certificates_that_dask_is_told_of(tmp_path, tiny_folder):
    """And whoever names none is told so."""
    (tmp_path / "a.md").write_text("The red one.")
    certificates = certificate(tmp_path)
    with cluster(tmp_path / "cluster", "--protocol", "tls", **certificates) as made:
        made.worker("--no-nanny")
        wait_until(lambda: "Registered to" in (made.folder / "worker-0" / "log").read_text())
        assert made.address.startswith("tls://")
        code, answer = added(
            tmp_path / "there", tiny_folder, "a.md", "--cluster", made.address, cwd=tmp_path, **certificates
        )
        assert (code, answer["added"]) == (0, 1)
        refused, answer = added(tmp_path / "other", tiny_folder, "a.md", "--cluster", made.address, cwd=tmp_path)
        assert (refused, "no certificates" in answer["error"]["message"]) == (2, True)


@pytest.mark.parametrize(
    ("address", "code", "said"),
    [
        ("tcp://127.0.0.1:1", 1, "no scheduler answers at tcp://127.0.0.1:1"),
        ("tls://127.0.0.1:1", 2, "no certificates"),
        ("localhost", 2, "no address of a scheduler"),
    ],
)
def test_an_address_where_no_scheduler_is_is_one_line(tmp_path, tiny_folder, address, code, said):
    (tmp_path / "a.md").write_text("The red one.")
    ended, answer = added(tmp_path / "there", tiny_folder, "a.md", "--cluster", address, cwd=tmp_path)
    assert ended == code
    assert said in answer["error"]["message"]
    assert not (tmp_path / "there").exists()


def test_without_its_extra_the_option_says_what_to_install(tmp_path, tiny_folder):
    (tmp_path / "a.md").write_text("The red one.")
    without = KB.replace("import sys;", "import sys; sys.modules['distributed'] = None;")
    done = subprocess.run(
        [sys.executable, "-c", without, "add", "a.md", "--cluster", "tcp://127.0.0.1:1"],
        cwd=tmp_path, env=environment(tmp_path / "there", KB_MODEL=tiny_folder), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "kb: --cluster needs the engine distributed (pip install 'kb-search[cluster]')\n"


def test_a_job_in_the_background_is_not_told_of_a_cluster(tmp_path, kb):
    ran = kb("add", "a.md", "--background", "--cluster", "tcp://127.0.0.1:1")
    assert ran.code == 2
    assert "set ingestion.cluster" in ran.stderr
