"""Every language with a grammar: what is a block, what it is called, what it is told of its surroundings."""

from __future__ import annotations

import pytest

from kb.read.code import grammar, outline

GO = """\
package main

// Server serves.
type Server[T any] struct {
\tname string
}

type (
\tA struct{ x int }
\tB interface{ M() }
)

// Start starts it.
// At once.
func (s *Server[T]) Start(x int) error {
\tt := `}
func fake() {`
\tf := func() { go s.run() }
\treturn f(t)
}

var x = 1 // remark
func main() {}
"""

BASH = """\
#!/bin/bash
# Tool.

set -e

# says foo
function foo() {
  cat <<EOT
}
function no() {
EOT
  bar() { echo "}"; }
}
baz () (
  echo hi
)
if true; then
  late() { :; }
fi
main "$@"
"""

TYPESCRIPT = """\
import { x } from "y";

/** A service. */
@Injectable()
export abstract class Service<T extends { a: string }> {
  private n = 1;

  // Starts it.
  @log()
  async start(x: Map<string, () => void>): Promise<void> {
    const s = `}${x}{`;
    function inner() {}
  }

  stop = () => { return 1; };
}

export const useIt = async (a: number) => a;
const Comp = memo(() => {
  return 1;
});
const z = require("z");
interface Opts { a: number }
namespace N {
  export function f() { return 1; }
}
"""

JAVASCRIPT = """\
Foo.prototype.bar = function () { return /}/; };
module.exports = {
  // doc
  a() {},
  b: function () {},
};
(function () {
  function hidden() {}
})();
export default class {
  x() {}
}
"""

RUST = """\
use x;

/// doc
#[derive(X)]
pub struct A<T> { x: T }

impl<T> Foo for A<T> where T: X {
    /// d
    #[inline]
    fn x<'a>(&'a self) -> &'a str { r#" } fn y() {" "# }
}
#[cfg(test)]
mod tests {
    #[test]
    fn t() {}
}
macro_rules! m { () => {} }
"""

JAVA = """\
package a;
/** doc of X. */
@A
public class X<T> extends Y {
  int a;
  X() {}
  /** doc m */
  @Override
  public <T> void m() { String s = "}"; }
  static class Inner {
    void z() {}
  }
}
record R(int a) {}
"""

C = """\
#ifndef H
#define LOOP(x) \\
  do { x; } while (0)
struct fwd;
typedef struct {
  int a;
} foo_t;
typedef int short_t;
/* adds */
static int *add(int a, char *s)
{
  return "}" ? 0 : 1;
}
#endif
"""

CPP = """\
namespace a::b {

/// A box.
template <typename T>
class Box : public Base<T> {
 public:
  // Makes one.
  Box() {}
  ~Box() { puts("}"); }
  int size() const { return R"x( } class Y { )x"[0]; }
};

template <typename T>
int Box<T>::grow(int by) {
  auto f = [&](int x) { return x; };
  return f(by);
}
bool operator==(const Box& a, const Box& b) { return true; }
}  // namespace
extern "C" {
int k(void) { return 1; }
}
"""

RUBY = """\
require "x"
# Docs
module A
  # Foo is
  class B::C < D
    attr_reader :x

    # says
    def self.foo
      <<~TXT
        end
        def nothing
      TXT
    end

    def bar!(x)
      x.each do |y|
      end
    end

    class << self
      def q; end
    end
  end
end
"""

SQL = """\
-- users
CREATE TABLE app.users (
  id int primary key
);
INSERT INTO app.users VALUES (1, 'a;b');
CREATE FUNCTION app.f(x int) RETURNS int AS $$ SELECT 1; $$ LANGUAGE sql;
create view v as select 1;
"""

EXPECTED = {
    "go": (
        GO,
        [(None, 1), ("Server", 3), ("A", 8), ("B", 10), ("Server.Start", 13), (None, 22), ("main", 23)],
    ),
    "bash": (BASH, [(None, 1), ("foo", 6), ("baz", 14), (None, 17), ("late", 18), (None, 19)]),
    "typescript": (
        TYPESCRIPT,
        [
            *((None, 1), ("Service", 3), ("Service.start", 8), ("Service.stop", 15), ("useIt", 18), ("Comp", 19)),
            *((None, 22), ("Opts", 23), ("N", 24), ("N.f", 25)),
        ],
    ),
    "javascript": (
        JAVASCRIPT,
        [
            *(("Foo.bar", 1), ("module.exports", 2), ("module.exports.a", 3), ("module.exports.b", 5), (None, 7)),
            *(("hidden", 8), ("default", 10), ("default.x", 11)),
        ],
    ),
    "rust": (RUST, [(None, 1), ("A", 3), ("A", 7), ("A.x", 8), ("tests", 12), ("tests.t", 14), ("m", 17)]),
    "java": (
        JAVA,
        [(None, 1), ("X", 2), ("X.X", 6), ("X.m", 7), ("X.Inner", 10), ("X.Inner.z", 11), ("R", 14)],
    ),
    "c": (C, [("LOOP", 1), (None, 4), ("foo_t", 5), (None, 8), ("add", 9)]),
    "cpp": (
        CPP,
        [
            *(("a.b", 1), ("a.b.Box", 3), ("a.b.Box.Box", 7), ("a.b.Box.~Box", 9), ("a.b.Box.size", 10)),
            *(("a.b.Box.grow", 13), ("a.b.operator==", 18), ("a.b", 19), (None, 20), ("k", 21)),
        ],
    ),
    "ruby": (
        RUBY,
        [(None, 1), ("A", 2), ("A.B.C", 4), ("A.B.C.foo", 8), ("A.B.C.bar!", 16), ("A.B.C", 21), ("A.B.C.q", 22)],
    ),
    "sql": (SQL, [("app.users", 1), (None, 5), ("app.f", 6), ("v", 7)]),
}


def outline_of(text, language):
    return outline.blocks(text.split("\n"), grammar.definitions(text, language))


def named(text, language, symbol):
    return next(block for block in outline_of(text, language) if block.symbol == symbol)


@pytest.mark.parametrize("language", sorted(EXPECTED))
def test_definitions_are_blocks_with_their_comments(language):
    text, expected = EXPECTED[language]

    blocks = outline_of(text, language)

    assert [(block.symbol, block.lines.first) for block in blocks] == expected


@pytest.mark.parametrize("language", sorted(EXPECTED))
def test_every_line_is_in_exactly_one_block(language):
    lines = EXPECTED[language][0].split("\n")
    covered = [
        n
        for block in outline_of(EXPECTED[language][0], language)
        for n in range(block.lines.first, block.lines.last + 1)
    ]

    assert covered == sorted(set(covered))
    assert {n for n, line in enumerate(lines, start=1) if line.strip()} <= set(covered)


def test_a_go_method_is_told_its_type_and_its_receiver():
    start = named(GO, "go", "Server.Start")

    assert start.heading == ("Server",)
    assert start.context == "Server[T any] struct\nServer serves.\nfunc (s *Server[T])"


def test_a_cpp_method_outside_its_class_is_told_the_class():
    grow = named(CPP, "cpp", "a.b.Box.grow")

    assert grow.heading == ("a", "b", "Box")
    assert grow.context == "namespace a::b\nclass Box : public Base<T>\nA box."


@pytest.mark.parametrize(
    ("text", "language", "symbol", "context"),
    [
        (TYPESCRIPT, "typescript", "Service.start", "abstract class Service<T extends { a: string }>\nA service."),
        (RUST, "rust", "A.x", "impl<T> Foo for A<T> where T: X"),
        (JAVA, "java", "X.m", "@A public class X<T> extends Y\ndoc of X."),
        (RUBY, "ruby", "A.B.C.bar!", "module A\nDocs\nclass B::C < D\nFoo is"),
    ],
)
def test_a_method_is_told_its_class_with_signature_and_comment(text, language, symbol, context):
    assert named(text, language, symbol).context == context


def test_definitions_in_ifdefs_and_after_an_error_are_found():
    text = "#if A\nint f(void) {\n  return 1;\n}\n#else\nint g(void) {\n  return 2;\n}\n#endif\n)) ^^ garbage (\nint h(void) {\n}\n"

    assert {"f", "g", "h"} <= {block.symbol for block in outline_of(text, "c")}


def test_tsx_is_read_with_its_markup():
    text = (
        "export function App(props: P) {\n  return <div>{props.a}</div>;\n}\nconst B = () => {\n  return <b />;\n};\n"
    )

    assert [block.symbol for block in outline_of(text, "tsx")] == ["App", "B"]


def test_a_language_without_a_row_has_no_definitions():
    assert grammar.definitions("sub f {}\n", "perl") is None
