"""The tokens of HCL, as one regular expression.

Source: the HCL native syntax specification (hashicorp/hcl, hclsyntax/spec.md), and what Terraform
1.11.4 accepts where the specification is silent.
"""

import re

TOKEN = re.compile(
    r"""[ \t\r]*+(?:
      (?P<chain>(?!(?:null|true|false)\.)[A-Za-z_][A-Za-z0-9_-]*+(?:\.[A-Za-z_][A-Za-z0-9_-]*+)++(?!\w))
    | (?P<core>core::(?=[A-Za-z_]))
    | (?P<word>[A-Za-z_][A-Za-z0-9_-]*+(?!\w))
    | (?P<foreign>[^\W\d][\w-]*+)
    | (?P<newline>\n)
    | (?P<text>"(?:[^"\\\n$%]++|\\[^\n]|[$%](?!\{))*+")
    | (?P<number>\d++(?:\.\d++)?+(?:[eE][+-]?\d++)?+)
    | (?P<comma>,)
    | (?P<splat>\[[ \t\r\n]*+\*[ \t\r\n]*+\])
    | (?P<open>[(\[{])
    | (?P<close>[)\]}])
    | (?P<quote>")
    | (?P<heredoc><<-?[^\W\d][\w-]*+\r?\n)
    | (?P<shift><<)
    | (?P<line>(?:\#|//)[^\n]*+)
    | (?P<comment>/\*.*?(?:\*/|\Z))
    | (?P<legacy>\.\d++)
    | (?P<equals>=(?![=>]))
    | (?P<dots>\.\.\.)
    | (?P<dotsplat>\.[ \t]*+\*)
    | (?P<operator>==|!=|<=|>=|=>|&&|\|\||::|[+*/%<>?:.])
    | (?P<sign>[-!])
    | (?P<strip>~(?=\}))
    | (?P<end>\Z)
    | (?P<stray>.)
    )""",
    re.VERBOSE | re.DOTALL,
).match

HEREDOC = re.compile(r"<<(-?)([^\W\d][\w-]*+)\r?\n").match

# Where the next top-level block begins, judged by its header at the left margin. It is asked only
# after an error, to find out how far the damage reaches.
HEADER = re.compile(
    r'^[^\W\d][\w-]*+(?:[ \t]++(?:"[^"\n]*+"|[^\W\d][\w-]*+))*+[ \t]*+\{', re.MULTILINE
).search
HEADER_OR_ARGUMENT = re.compile(
    r'^[^\W\d][\w-]*+(?:(?:[ \t]++(?:"[^"\n]*+"|[^\W\d][\w-]*+))*+[ \t]*+\{|[ \t]*+=(?!=))',
    re.MULTILINE,
).search

# What can end an operand: after it a `-` subtracts, before it a `-` negates.
OPERAND_ENDS = frozenset(
    {"word", "chain", "foreign", "text", "quote", "number", "close", "splat", "legacy"}
)

OPERAND_STARTS = frozenset({"word", "chain", "foreign", "text", "number", "quote", "heredoc"})

# What the parser reads rightly as it stands, inside expressions.
PLAIN = frozenset({"word", "number", "comma", "equals", "operator", "dots"})

CLOSERS = {"(": ")", "[": "]", "{": "}"}
MAX_DEPTH = 100
