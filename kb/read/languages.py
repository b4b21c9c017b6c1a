"""Which programming language a file is in: by extension, by name, by its shebang.

Knows nothing of how a language is read (`kb.read.code`), and does not look for languages in text without these marks.
"""

from __future__ import annotations

import re
from pathlib import PurePath

LANGUAGES = {
    "bash": (".sh", ".bash", ".zsh", ".ksh"),
    "c": (".c", ".h"),
    "clojure": (".clj", ".cljs", ".cljc", ".edn"),
    "cmake": (".cmake",),
    "cpp": (".cc", ".cpp", ".cxx", ".c++", ".hpp", ".hh", ".hxx", ".h++", ".ipp", ".inl"),
    "csharp": (".cs",),
    "css": (".css", ".scss", ".sass", ".less"),
    "dart": (".dart",),
    "elixir": (".ex", ".exs"),
    "erlang": (".erl", ".hrl"),
    "fortran": (".f90", ".f95", ".f03", ".f"),
    "go": (".go",),
    "graphql": (".graphql", ".gql"),
    "groovy": (".groovy", ".gradle"),
    "haskell": (".hs",),
    "hcl": (".tf", ".hcl"),
    "java": (".java",),
    "javascript": (".js", ".mjs", ".cjs", ".jsx"),
    "julia": (".jl",),
    "kotlin": (".kt", ".kts"),
    "lisp": (".el", ".lisp", ".cl", ".scm", ".rkt"),
    "lua": (".lua",),
    "nix": (".nix",),
    "ocaml": (".ml", ".mli"),
    "perl": (".pl", ".pm"),
    "php": (".php",),
    "powershell": (".ps1", ".psm1"),
    "protobuf": (".proto",),
    "python": (".py", ".pyi", ".pyw"),
    "r": (".r",),
    "ruby": (".rb", ".rake", ".gemspec"),
    "rust": (".rs",),
    "scala": (".scala", ".sc"),
    "shell": (".fish", ".csh", ".bat", ".cmd", ".awk"),
    "sql": (".sql",),
    "swift": (".swift",),
    "tsx": (".tsx",),
    "typescript": (".ts", ".mts", ".cts"),
    "vim": (".vim",),
    "vue": (".vue", ".svelte"),
    "zig": (".zig",),
}
EXTENSIONS = {extension: language for language, extensions in LANGUAGES.items() for extension in extensions}

NAMES = {
    "dockerfile": "dockerfile",
    "containerfile": "dockerfile",
    "makefile": "make",
    "gnumakefile": "make",
    "rakefile": "ruby",
    "gemfile": "ruby",
    "vagrantfile": "ruby",
    "jenkinsfile": "groovy",
    ".bashrc": "bash",
    ".bash_profile": "bash",
    ".profile": "bash",
    ".zshrc": "bash",
    "cmakelists.txt": "cmake",
}

INTERPRETERS = {
    **dict.fromkeys(("sh", "bash", "zsh", "dash", "ksh", "ash"), "bash"),
    **dict.fromkeys(("python", "pypy", "uv"), "python"),
    **dict.fromkeys(("node", "nodejs", "bun"), "javascript"),
    **dict.fromkeys(("deno", "ts-node", "tsx"), "typescript"),
    **dict.fromkeys(("fish", "csh", "tcsh", "awk", "gawk"), "shell"),
    **{name: name for name in ("ruby", "perl", "php", "lua", "groovy", "julia", "elixir")},
    "Rscript": "r",
    "make": "make",
}
SHEBANG = re.compile(r"#!\s*(?P<command>\S+)(?P<arguments>.*)")
ENV_OPTION = re.compile(r"-\S*|\w+=\S*")  # `env -S`, `env NAME=value`
VERSION = re.compile(r"[\d.]+$")
CPP_HEADER = re.compile(r"^[ \t]*(?:class|namespace|template|using)\b|^[ \t]*(?:public|private):", re.MULTILINE)


def of(path: str | PurePath, text: str) -> str | None:
    """The language of a file, by its name, else by its shebang. A `.h` that speaks of classes is C++."""
    language = of_path(path) or of_shebang(text)
    return "cpp" if PurePath(path).suffix.lower() == ".h" and CPP_HEADER.search(text) else language


def of_path(path: str | PurePath) -> str | None:
    """The language that the file's name says."""
    name = PurePath(path)
    return NAMES.get(name.name.lower()) or EXTENSIONS.get(name.suffix.lower())


def of_shebang(text: str) -> str | None:
    """The language of the interpreter that a script's first line names: `#!/usr/bin/env -S python3 -u` is python."""
    found = SHEBANG.match(text.partition("\n")[0])
    if found is None:
        return None
    words = [found["command"], *found["arguments"].split()]
    if PurePath(words[0]).name == "env":
        words = [word for word in words[1:] if not ENV_OPTION.fullmatch(word)]
    if not words:
        return None
    interpreter = PurePath(words[0]).name
    return INTERPRETERS.get(interpreter) or INTERPRETERS.get(VERSION.sub("", interpreter))
