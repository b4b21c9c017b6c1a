"""What of each language's tree-sitter grammar defines a symbol: one row a language.

The names are those of the grammars' own node types. How they are walked is the matter of `kb.read.code.grammar`.
"""

from __future__ import annotations

import msgspec


class Grammar(msgspec.Struct, frozen=True, kw_only=True):
    """Node types, by what they mean for the outline of a file."""

    package: str
    """The wheel that holds the grammar."""
    function: str = "language"
    """The function of the package that returns it."""
    leaves: frozenset[str]
    """Define a symbol and are one block."""
    containers: frozenset[str] = frozenset()
    """Define a symbol; the definitions in them are blocks of their own."""
    bindings: frozenset[str] = frozenset()
    """Give a name to a value; define a symbol where the value is a function, a class or an object with methods."""
    wrappers: frozenset[str] = frozenset()
    """Stand around a definition and belong to it: `export`, `template <...>`, decorators."""
    groups: frozenset[str] = frozenset()
    """Are looked through for definitions, and do not belong to one: `#ifdef`, `extern "C"`, bodies."""
    attached: frozenset[str] = frozenset({"comment"})
    """Belong to the definition that follows on the next line."""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


PYTHON = Grammar(
    package="tree_sitter_python",
    leaves=_names("function_definition"),
    containers=_names("class_definition"),
    wrappers=_names("decorated_definition"),
    groups=_names(
        "block if_statement elif_clause else_clause try_statement except_clause finally_clause with_statement"
    ),
)
BASH = Grammar(
    package="tree_sitter_bash",
    leaves=_names("function_definition"),
    groups=_names("if_statement elif_clause else_clause list compound_statement case_statement case_item"),
)
GO = Grammar(
    package="tree_sitter_go",
    leaves=_names("function_declaration method_declaration type_spec type_alias"),
    wrappers=_names("type_declaration"),
)
JAVASCRIPT = Grammar(
    package="tree_sitter_javascript",
    leaves=_names("function_declaration generator_function_declaration method_definition"),
    containers=_names("class_declaration class"),
    bindings=_names("variable_declarator assignment_expression pair field_definition"),
    wrappers=_names("export_statement lexical_declaration variable_declaration"),
    groups=_names(
        "class_body object expression_statement statement_block call_expression parenthesized_expression arguments "
        "function_expression arrow_function unary_expression if_statement else_clause"
    ),
    attached=_names("comment decorator"),
)
TYPESCRIPT = Grammar(
    package="tree_sitter_typescript",
    function="language_typescript",
    leaves=JAVASCRIPT.leaves
    | _names("interface_declaration enum_declaration type_alias_declaration function_signature"),
    containers=JAVASCRIPT.containers | _names("abstract_class_declaration module internal_module"),
    bindings=_names("variable_declarator assignment_expression pair public_field_definition"),
    wrappers=JAVASCRIPT.wrappers | _names("ambient_declaration"),
    groups=JAVASCRIPT.groups,
    attached=JAVASCRIPT.attached,
)
RUST = Grammar(
    package="tree_sitter_rust",
    leaves=_names("function_item struct_item enum_item union_item macro_definition type_item"),
    containers=_names("impl_item trait_item mod_item"),
    groups=_names("declaration_list foreign_mod_item"),
    attached=_names("line_comment block_comment attribute_item"),
)
JAVA = Grammar(
    package="tree_sitter_java",
    leaves=_names("method_declaration constructor_declaration compact_constructor_declaration"),
    containers=_names(
        "class_declaration interface_declaration enum_declaration record_declaration annotation_type_declaration"
    ),
    groups=_names("class_body interface_body enum_body enum_body_declarations annotation_type_body"),
    attached=_names("line_comment block_comment"),
)
C = Grammar(
    package="tree_sitter_c",
    leaves=_names(
        "function_definition struct_specifier union_specifier enum_specifier type_definition preproc_function_def"
    ),
    groups=_names("preproc_if preproc_ifdef preproc_else preproc_elif linkage_specification declaration_list"),
)
CPP = Grammar(
    package="tree_sitter_cpp",
    leaves=_names(
        "function_definition union_specifier enum_specifier type_definition preproc_function_def "
        "alias_declaration concept_definition"
    ),
    containers=_names("class_specifier struct_specifier namespace_definition"),
    wrappers=_names("template_declaration"),
    groups=C.groups | _names("field_declaration_list"),
)
RUBY = Grammar(
    package="tree_sitter_ruby",
    leaves=_names("method singleton_method"),
    containers=_names("class module"),
    groups=_names("body_statement singleton_class if unless then else begin"),
)
SQL = Grammar(
    package="tree_sitter_sql",
    leaves=_names(
        "create_table create_view create_materialized_view create_function create_procedure create_trigger create_index "
        "create_type create_sequence create_schema create_database create_role create_extension"
    ),
    wrappers=_names("statement"),
    groups=_names("transaction block"),
    attached=_names("comment marginalia"),
)

GRAMMARS = {
    "python": PYTHON,
    "bash": BASH,
    "go": GO,
    "javascript": JAVASCRIPT,
    "typescript": TYPESCRIPT,
    "tsx": msgspec.structs.replace(TYPESCRIPT, function="language_tsx"),
    "rust": RUST,
    "java": JAVA,
    "c": C,
    "cpp": CPP,
    "ruby": RUBY,
    "sql": SQL,
}
