"""docs/http.md: how `kb serve` is used, what it answers and refuses; and docs/openapi.json. Written by scripts/docs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from kb.serve import faults
from kb.serve.openapi import schema

USING = """\
`kb serve` lets programs search and fill the store over HTTP, on this machine or beyond it, until Ctrl-C. It answers with the JSON of the
command line ([schema.json](schema.json)); [openapi.json](openapi.json), which it also serves at `/openapi.json`, describes all of it, and
is made from what the program runs.

```sh
kb serve                                  # http://127.0.0.1:7700
kb serve --port 8000 --host 0.0.0.0 --allow-host kb.example.lan

curl 'http://127.0.0.1:7700/search?query=rotate+keys&top=3'

token=$(cat ~/.kb/serve.token)
curl -H "Authorization: Bearer $token" --data-binary @report.pdf 'http://127.0.0.1:7700/documents?name=report.pdf&tags=work'
curl 'http://127.0.0.1:7700/jobs/1'       # how the upload goes on
```

A file is sent as the body, with its name as a parameter; a form, as `curl -F` sends it, is refused. It is written to disk as it comes, and becomes a job, as `kb add --background` makes them; the
server works them off one at a time, and what it did not come to before it ended it does at its next start. The document has no path, since
it is no file on this machine: its original is kept (`keep_original=false` for none) and had back with `GET /documents/ID/original`.

## Who may do what

- Whoever changes anything needs the token: `Authorization: Bearer TOKEN`. It is the variable `KB_SERVE_TOKEN`, or that name in a file that
  the setting `env_file` names; else it is in `serve.token` in the data directory, for its owner alone (mode 0600), made at the first start. A token
  of less than 16 characters, or a file that others can read, is refused. It is never taken from the command line, and never printed.
- On this machine (`--host 127.0.0.1`, `::1`, `localhost`) reading needs none: every user of it may search. Beyond it everything does, `/health`
  too; and there is no TLS, so put a proxy before it that has.
- A `Host` header that is none of its names is refused: the host it listens at, `localhost`, `127.0.0.1`, `[::1]`, and what `--allow-host` says. So is
  every request with an `Origin` but its own and those of `--allow-origin`, to which it also says what browsers ask for (CORS).

## Limits

| setting | what |
| --- | --- |
| `serve.max_upload_bytes` | Of a file, 500 MB; more is a 413, before it is read where its length was said. JSON may have 1 MB. |
| `serve.max_requests` | At once, 32; more are a 503 with `Retry-After`. Eight are worked at, the others wait. |
| `serve.slow_client_s` | For a request's head, and for its body beyond a second for each 1,000 bytes: 20 s, then a 408. |

The log, on standard error, is a line a request: method, path as below, status, time. Nothing that was asked, sent or answered is in it.
SIGTERM and Ctrl-C end it when the requests at hand are answered and the worker is done with its file, or after 15 s."""

ERRORS = """\
An error is `{"error": {"code", "message", "hint", "exit_code"}}`, as the command line prints it; `exit_code` is what `kb` would end with
([errors.md](errors.md)). A parameter or field that does not exist, or cannot be, is a `BadRequest` that names it."""


def page(generated: str) -> str:
    parts = [f"# HTTP\n\n{generated}", USING, "## What can be asked", *_operations(), "## Errors", ERRORS, _errors()]
    return "\n\n".join(parts) + "\n"


def openapi() -> str:
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


def _operations() -> Iterator[str]:
    described = schema()
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            yield "\n\n".join(
                filter(None, _operation(path, method.upper(), operation, described["components"]["schemas"]))
            )


def _operation(path: str, method: str, operation: dict[str, Any], schemas: dict[str, Any]) -> Iterator[str]:
    yield f"### {method} {path}"
    token = " Needs the token." if operation.get("security") == [{"token": []}] else ""
    yield f"{operation['summary']}{token} {_answer(operation)}"
    given = [
        (one["name"], one["required"], one["schema"], one.get("description", ""))
        for one in operation.get("parameters", ())
    ]
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    if body is not None:
        named = schemas[body["$ref"].rpartition("/")[2]]
        given += [
            (name, name in named["required"], rule, rule.get("description", ""))
            for name, rule in named["properties"].items()
        ]
    rows = [f"| `{name}`{'*' if required else ''} | {_rule(rule)} | {said} |" for name, required, rule, said in given]
    where = "field of the body" if body is not None else "parameter"
    yield "\n".join([f"| {where} | what | |", "| --- | --- | --- |", *rows]) if rows else ""


def _answer(operation: dict[str, Any]) -> str:
    [(status, response)] = [(code, said) for code, said in operation["responses"].items() if code != "default"]
    [(media_type, content)] = response["content"].items()
    rule = content["schema"]
    names = [one["$ref"].rpartition("/")[2] for one in rule.get("anyOf", [rule]) if "$ref" in one]
    return f"Answers {status}, {' or '.join(f'`{name}`' for name in names) or media_type.partition(';')[0]}."


def _rule(rule: dict[str, Any]) -> str:
    """A schema in a few words: `integer, 1 to 1000, else 10`."""
    if rule.get("type") == "array":
        return f"any number of: {_rule(rule['items'])}"
    words = [rule.get("format") or rule.get("type", "")]
    if "enum" in rule:
        words = [", ".join(f"`{value}`" for value in rule["enum"])]
    if "minimum" in rule:
        words.append(
            f"{rule['minimum']} to {rule['maximum']}"
            if rule.get("maximum", 10**9) < 10**9
            else f"from {rule['minimum']}"
        )
    if rule.get("default") not in (None, "", []):
        words.append(f"else {json.dumps(rule['default'])}")
    return ", ".join(words)


def _errors() -> str:
    said = {kind.__name__: (kind.status, kind.__doc__ or "") for kind in faults.REFUSALS}
    rows = [f"| {status} | `{name}` | {meaning} |" for name, (status, meaning) in said.items()]
    rows += [f"| {status} | `{kind.__name__}` | as at the command line |" for kind, status in faults.STATUSES]
    return "\n".join(["| status | error | |", "| ---: | --- | --- |", *sorted(rows)])
