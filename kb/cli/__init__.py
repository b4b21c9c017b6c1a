"""The command line: options to a request, a use case, an answer printed. A table of contents, no logic of its own.

Standard output is data, standard error is talk. Under `-j` every answer is JSON on standard output, errors too.
"""
