"""All doors at once: a server works a job off, while programs ask it and agents ask the same store through `kb mcp`."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import jsonschema
import running
from serving import serving
from talking import agent

FILES = 200


def test_four_programs_and_four_agents_ask_while_a_job_adds_200_documents(data_dir, tmp_path, roomy_folder):
    """Nothing is lost, nothing is wrong, every answer is what the schema of its door says."""
    running.write(tmp_path / "many", {f"n{number}.md": f"red subject{number} in n{number}" for number in range(FILES)})
    with ExitStack() as doors:
        server = doors.enter_context(serving(data_dir, cwd=tmp_path, KB_MODEL=roomy_folder))
        server.added("first.md", b"red subject in first.md")
        agents = [doors.enter_context(agent(data_dir, KB_MODEL=roomy_folder)) for _ in range(2)]
        adding = running.here(
            tmp_path, "add", "many", "-r", "--background", "-j", KB_DATA_DIR=data_dir, KB_MODEL=roomy_folder
        )
        job_id = adding.json["job"]["job_id"]
        valid = validator(server)
        with ThreadPoolExecutor(8) as clients:
            programs = [clients.submit(as_program, server, valid, job_id) for _ in range(4)]
            others = [clients.submit(as_agent, agents[number % 2], server, job_id) for number in range(4)]
            totals = [client.result() for client in (*programs, *others)]
        assert server.done(job_id)["job"]["counts"] == {"added": FILES}
        assert all(client == sorted(client) for client in totals)
        assert {total for client in totals for total in client} - {1, 1 + FILES}  # it was looked at while it grew
        for number in range(0, FILES, 23):
            [hit] = server.get("/search", query=f"subject{number}", mode="keyword").json["results"]
            [same] = agents[0].ask("search", query=f"subject{number}", mode="keyword")["results"]
            assert hit["text"] == same["text"] == f"red subject{number} in n{number}"


def validator(server):
    """Checks an answer of an operation against what the server says of itself."""
    schema = server.get("/openapi.json").json

    def check(method, path, answer):
        [(_, said)] = [
            pair for pair in schema["paths"][path][method.lower()]["responses"].items() if pair[0] == str(answer.status)
        ]
        rule = said["content"]["application/json"]["schema"]
        jsonschema.Draft202012Validator({**rule, "components": schema["components"]}).validate(answer.json)
        return answer.json

    return check


def as_program(server, valid, job_id):
    """The totals that it saw until the job had ended."""
    totals = []
    while True:
        job = valid("GET", "/jobs/{number}", server.get(f"/jobs/{job_id}", top=1))["job"]
        found = valid("GET", "/search", server.get("/search", query="red subject", top=20))["results"]
        assert found
        assert all(hit["text"].endswith(f" in {hit['source']['title']}") for hit in found)
        totals.append(valid("GET", "/documents", server.get("/documents", top=1))["total"])
        if job["ended_at"]:
            return totals


def as_agent(client, server, job_id):
    """The same through its own door."""
    totals = []
    while True:
        has_ended = server.get(f"/jobs/{job_id}", top=1).json["job"]["ended_at"]
        found = client.ask("search", query="red subject", top=20)["results"]
        assert found
        assert all(hit["text"].endswith(f" in {hit['title']}") for hit in found)
        assert client.ask("get", document=found[0]["document_id"])["text"] == found[0]["text"]
        totals.append(client.ask("list", top=1)["total"])
        if has_ended:
            return totals
