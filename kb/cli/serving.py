"""`kb serve`: the store over HTTP."""

from __future__ import annotations

from typing import Annotated

import typer

from kb.errors import Exit
from kb.opening import setup


def serve(
    host: Annotated[
        str, typer.Option("--host", metavar="HOST", help="Listen here; beyond this machine all clients need the token.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", metavar="N", min=0, max=65535, help="And here; 0: any that is free.")
    ] = 7700,
    allow_hosts: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-host", metavar="NAME", help="A name that clients may call it by; repeated: each of them."
        ),
    ] = None,
    allow_origins: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-origin",
            metavar="ORIGIN",
            help="Pages that may ask, such as https://wiki.example; repeated: each of them.",
        ),
    ] = None,
) -> int:
    """Serve the store over HTTP: search, upload, jobs and more (docs/http.md), until Ctrl-C.

    Whoever changes something needs a token: KB_SERVE_TOKEN, else the one that is made in the data directory at the first start.
    """
    from kb.serve.server import Wanted
    from kb.serve.server import serve as run

    here = setup()
    wanted = Wanted(
        host=host, port=port, allowed_hosts=tuple(allow_hosts or ()), allowed_origins=tuple(allow_origins or ())
    )
    run(here.data_dir, here.settings, wanted)
    return Exit.OK
