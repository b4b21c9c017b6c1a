"""The HTTP door: `kb serve`. What can be asked of it is the table in `kb.serve.operations`; docs/http.md says it for people.

Nothing here is loaded by any other command, and Starlette and uvicorn by nothing else.
"""
