"""The door for agents: `kb mcp` answers the Model Context Protocol (https://modelcontextprotocol.io) on standard input and output.

`tools` says what there is, `arguments` what each takes, `answers` what comes back, `server` joins them with the SDK, `pipes` carries
the messages. Only `server` and `pipes` know the SDK, which takes a second to load: they are loaded when `kb mcp` runs.
"""
