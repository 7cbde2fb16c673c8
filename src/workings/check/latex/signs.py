"""What each character and each command of a formula is: tables from how it is written to `(kind, value)`.

Kinds: `symbol`, `function`, `big`, `relation`, `sign` (of a term), `times`, `slash`, `open`, `close`, `bar`, `mid`,
`separator`, `quad`, `font`, `accent`, `switch` and the names of single commands. `nothing` has no meaning and is dropped.
"""

from __future__ import annotations

from typing import Any

Kind = tuple[str, Any]

_GREEK = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau upsilon phi"
    " chi psi omega"
).split()
_CAPITALS = " ".join(name.capitalize() for name in _GREEK)
_LETTERS = dict(zip("αβγδεζηθικλμνξοπρστυφχψω", _GREEK, strict=True)) | dict(
    zip("ΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩ", _CAPITALS.split(), strict=True)
)
_VARIANTS = {"ϵ": "epsilon", "ϑ": "theta", "ϕ": "phi", "ς": "sigma", "ϱ": "rho", "ϖ": "pi", "ϰ": "kappa"}
_OTHER_SYMBOLS = {
    "∞": "infty", "∂": "partial", "ℓ": "ell", "⊤": "top", "∅": "emptyset", "ħ": "hbar", "†": "dagger", "?": "?",
    "ø": "emptyset", "∆": "Delta",
}  # fmt: skip
_NAMED_SYMBOLS = (
    "infty partial ell top emptyset hbar dagger ddagger imath jmath Re Im aleph wp natural sharp flat clubsuit spadesuit "
    "angle triangle square Box checkmark varnothing star bot eth complement Bbbk"
).split()
_FUNCTION_WORDS = (
    "exp log ln lg sin cos tan cot sec csc sinh cosh tanh coth arcsin arccos arctan arcsinh arccosh arctanh artanh arsinh "
    "arcosh max min argmax argmin softmax softargmax softmin logsoftmax logsumexp lse sigmoid relu gelu silu swish "
    "softplus elu selu leakyrelu hardtanh mish sign sgn floor ceil round trunc abs norm mean median var std cov corr diag "
    "tr trace det rank concat cat stack flatten vec sqrt erf erfc layernorm batchnorm rmsnorm dropout maxpool avgpool "
    "meanpool onehot relu6 gcd lcm deg dim ker hom sup inf limsup liminf pr mse bce atan asin acos atan2 expm1 log1p"
).split()
_NAMES_ONLY = {"mse", "bce", "dim", "pr", "deg", "hom", "ker", "inf", "stack"}
LIMITS = frozenset(("max", "min", "argmax", "argmin", "sup", "inf", "limsup", "liminf"))
"""Functions that run over what is below them: `max_i x_i`."""
FUNCTIONS: dict[str, Kind] = {word: ("function", word) for word in _FUNCTION_WORDS if word not in _NAMES_ONLY}
"""Function words as they stand in `\\text{…}` or before a bracket, in small letters."""

BIG = {
    "sum": "∑", "prod": "∏", "int": "∫", "iint": "∬", "iiint": "∭", "oint": "∮", "coprod": "∐", "lim": "lim",
    "bigoplus": "⨁", "bigotimes": "⨂", "bigodot": "⨀", "bigcup": "⋃", "bigcap": "⋂", "bigwedge": "⋀", "bigvee": "⋁",
    "bigsqcup": "⨆", "biguplus": "⨄",
}  # fmt: skip
_RELATIONS = {
    "=": "= eq", "≈": "approx simeq cong approxeq thickapprox ≃ ≅ ≊ ≐ doteq", "≤": "le leq leqslant leqq lesssim ≦ ⩽ <=",
    "≥": "ge geq geqslant geqq gtrsim ≧ ⩾ >=", "<": "lt", ">": "gt", "≠": "ne neq not=",
    "→": "to rightarrow longrightarrow -> ⟶ hookrightarrow rightsquigarrow leadsto ⇝",
    "←": "gets leftarrow longleftarrow <- ⟵", "↔": "leftrightarrow longleftrightarrow",
    "⇒": "implies Rightarrow Longrightarrow => ⟹", "⇐": "impliedby Leftarrow Longleftarrow ⟸",
    "⇔": "iff Leftrightarrow Longleftrightarrow <=> ⟺", "∈": "in isin", "∉": "notin not\\in not∈", "∋": "ni owns",
    "⊂": "subset", "⊆": "subseteq subseteqq", "⊄": "not\\subset", "⊃": "supset", "⊇": "supseteq", "∼": "sim thicksim",
    "∝": "propto varpropto", "≡": "equiv", ":=": "coloneqq coloneq triangleq defeq ≔ ≜ ≝", "=:": "eqqcolon", "≪": "ll <<",
    "≫": "gg >>", "↦": "mapsto longmapsto ⟼", ":": "colon", "≺": "prec", "≻": "succ", "⪯": "preceq ≼", "⪰": "succeq ≽",
    "⊥": "perp", "∥": "parallel", "⊢": "vdash", "⊨": "models", "≍": "asymp", "≢": "not\\equiv", "≮": "not<", "≯": "not>",
    "⟂": "indep", "≉": "not\\approx", "↑": "uparrow", "↓": "downarrow",
}  # fmt: skip
_SIGNS = {"+": "", "-": "− – —", "±": "pm", "∓": "mp"}
_TIMES = {
    "·": "cdot ⋅ cdotp", "×": "times", "*": "ast ∗", "∘": "circ", "⊙": "odot", "⊗": "otimes", "@": "", "⊕": "oplus",
    "∪": "cup", "∩": "cap", "∧": "wedge land", "∨": "vee lor", "∖": "setminus smallsetminus backslash", "⊖": "ominus",
    "⋆": "", "mod": "bmod", "•": "bullet", "⊘": "oslash",
}  # fmt: skip
_OPEN = {"(": "lparen", "[": "lbrack left[", "{": "\\{ lbrace", "⌊": "lfloor", "⌈": "lceil", "⟨": "langle left< 〈"}
_CLOSE = {")": "rparen", "]": "rbrack", "}": "\\} rbrace", "⌋": "rfloor", "⌉": "rceil", "⟩": "rangle right> 〉"}
_BARS = {"|": "vert", "‖": "Vert \\| ∥ ‖"}
FONTS = {
    "bold": "mathbf boldsymbol bm textbf pmb symbf mathbfit", "rm": "mathrm textrm textup mathup", "cal": "mathcal",
    "scr": "mathscr",
    "bb": "mathbb mathds mathbbm Bbb", "frak": "mathfrak", "tt": "mathtt texttt", "sf": "mathsf textsf",
    "it": "mathit textit emph",
}  # fmt: skip
_SWITCHES = {"bold": "bf bfseries", "rm": "rm", "cal": "cal", "it": "it", "tt": "tt", "sf": "sf"}
ACCENTS = {
    "hat": "hat widehat Hat", "bar": "bar overline Bar", "tilde": "tilde widetilde Tilde", "vec": "vec overrightarrow Vec",
    "dot": "dot Dot", "ddot": "ddot Ddot", "check": "check", "breve": "breve", "mathring": "mathring",
    "underline": "underline underbar", "acute": "acute", "grave": "grave",
}  # fmt: skip
WIDE = {"hat": "widehat", "bar": "overline", "tilde": "widetilde", "vec": "overrightarrow"}
"""What an accent over more than one letter is called as a function of them."""
_NOTHING = (
    "displaystyle textstyle scriptstyle scriptscriptstyle limits nolimits nonumber notag hline cline toprule midrule "
    "bottomrule boxed fbox cancel bcancel xcancel mathstrut strut ensuremath mathbin mathrel mathord mathpunct mathopen "
    "mathclose mathinner operatorname smash small large Large LARGE huge Huge normalsize tiny footnotesize scriptsize "
    "noindent centering allowbreak break nobreak hfill protect relax null enspace thinspace medspace thickspace "
    "negthinspace normalfont par indent space allowdisplaybreaks mathsurround boldmath text mbox hbox textnormal textmd"
).split()
_COMMANDS = {
    "frac": "frac", "dfrac": "frac", "tfrac": "frac", "nicefrac": "frac", "cfrac": "frac", "sfrac": "frac",
    "flatfrac": "frac", "binom": "binom", "dbinom": "binom", "tbinom": "binom", "sqrt": "sqrt", "over": "over",
    "choose": "over", "underbrace": "brace", "overbrace": "brace", "stackrel": "stack", "overset": "stack",
    "underset": "stack", "substack": "substack", "phantom": "phantom", "hphantom": "phantom", "vphantom": "phantom",
    "nabla": "nabla", "xrightarrow": "arrow", "xleftarrow": "arrow", "pmod": "pmod", "pod": "pmod", "mod": "pmod",
    "mathop": "mathop", "xRightarrow": "arrow", "xLeftarrow": "arrow",
}  # fmt: skip


def _spellings(table: dict[str, str], kind: str) -> dict[str, Kind]:
    """Each sign itself and its other spellings; those of letters are commands."""
    return {
        ("\\" + word if word[0].isalpha() or (word.startswith("\\") is False and word.isalpha()) else word): (kind, sign)
        for sign, words in table.items()
        for word in (sign, *words.split())
        if not (word == sign and sign.isascii() and (sign.isalpha() or sign in "{}"))
    }


def _table() -> dict[str, Kind]:
    kinds: dict[str, Kind] = {}
    for letter in "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ":
        kinds[letter] = ("symbol", (letter, ()))
    for letter, name in (_LETTERS | _VARIANTS | _OTHER_SYMBOLS).items():
        kinds[letter] = ("symbol", (name, ()))
    for name in (*_GREEK, *_CAPITALS.split(), *_NAMED_SYMBOLS):
        kinds["\\" + name] = kinds["\\var" + name] = ("symbol", (name, ()))
    for letter, name in zip("ℝℕℤℚℂ𝔼ℙ𝟙", "RNZQCEP1", strict=True):
        kinds[letter] = ("symbol", (name, ("bb",)))
    kinds |= {"ℒ": ("symbol", ("L", ("cal",))), "\\#": ("hash", "#"), "#": ("hash", "#")}
    kinds |= {name: ("symbol", ("emptyset", ())) for name in ("\\O", "\\varnothing")}
    kinds["\\intercal"] = ("symbol", ("top", ()))
    tables = {"relation": _RELATIONS, "sign": _SIGNS, "times": _TIMES, "open": _OPEN, "close": _CLOSE, "bar": _BARS}
    for kind, table in tables.items():
        kinds |= _spellings(table, kind)
    for table, kind in ((FONTS, "font"), (_SWITCHES, "switch"), (ACCENTS, "accent")):
        kinds |= {"\\" + word: (kind, style) for style, words in table.items() for word in words.split()}
    for word in _FUNCTION_WORDS:
        kinds.setdefault("\\" + word, ("function", word))
    kinds |= {"\\arg\\max": ("function", "argmax"), "\\arg\\min": ("function", "argmin")}
    kinds["\\Pr"] = ("symbol", ("Pr", ("text",)))
    for name, sign in BIG.items():
        kinds["\\" + name] = kinds[sign] = ("big", sign)
    for name, kind in _COMMANDS.items():
        kinds["\\" + name] = (kind, name)
    for name in _NOTHING:
        kinds["\\" + name] = ("nothing", "")
    for sign in ("{", "}", "_", "^", "&", "."):
        kinds[sign] = (sign, sign)
    kinds |= {"\\sb": ("_", "_"), "\\sp": ("^", "^")}
    kinds |= {slash: ("slash", "/") for slash in ("/", "∕", "\\middle/")} | {sign: ("slash", "÷") for sign in ("\\div", "÷")}
    kinds |= {"!": ("postfix", "!"), "%": ("postfix", "%"), "\\%": ("postfix", "%"), "√": ("root", "√"), "∇": ("nabla", "")}
    kinds |= {"°": ("postfix", "°"), "\\degree": ("postfix", "°")}
    kinds |= {"'": ("prime", 1), "\\prime": ("prime", 1), "′": ("prime", 1), "″": ("prime", 2), "’": ("prime", 1)}
    kinds |= {comma: ("separator", ",") for comma in ",，、"} | {mark: ("separator", ";") for mark in ";；"}
    kinds |= {"\\quad": ("quad", ""), "\\qquad": ("quad", ""), "\\hfil": ("quad", "")}
    kinds |= {currency: ("nothing", "") for currency in ("\\$", "\\pounds", "\\euro", "€", "£", "¥", "₹")}
    for dots in r"\ldots \dots \cdots \vdots \ddots \dotsc \dotsb \dotsm … ⋯ ⋮ ⋱ ... ..".split():
        kinds[dots] = ("dots", "…")
    kinds |= {bar: ("mid", "|") for bar in ("\\mid", "∣", "\\middle|")}
    kinds |= {bar: ("mid", "‖") for bar in ("\\middle‖", "\\middle\\|")}
    for sign, bar in (("|", "|"), ("\\|", "‖"), ("‖", "‖")):
        kinds["\\left" + sign], kinds["\\right" + sign] = ("open", bar), ("close", bar)
    kinds |= {"\\lvert": ("open", "|"), "\\rvert": ("close", "|"), "\\lVert": ("open", "‖"), "\\rVert": ("close", "‖")}
    kinds |= {"\\left.": ("open", ""), "\\right.": ("close", ""), "\\left<": ("open", "⟨"), "\\right>": ("close", "⟩")}
    for sign, word in zip("∀∃∴∵¬□", "forall exists therefore because neg qed".split(), strict=True):
        kinds[sign] = kinds["\\" + word] = ("words", sign)
    return kinds


KINDS = _table()
"""How a thing is written → what it is."""
OPERATOR_WORDS: dict[str, Kind] = {
    "plus": ("sign", "+"), "minus": ("sign", "-"), "times": ("times", "×"), "divided by": ("slash", "÷"),
    "mod": ("times", "mod"), "modulo": ("times", "mod"), "choose": ("times", "choose"), "of": ("times", "·"),
}  # fmt: skip
"""Words that stand for a sign between two operands."""
SPELLED = frozenset(
    name[1:]
    for name in KINDS
    if name[0] == "\\" and name[1:].isalpha() and len(name) > 4 and name[1:].lower() not in FUNCTIONS
) | {"begin", "end"}
"""Names of commands: as plain letters in a formula they have lost their backslash."""
JOINING_WORDS = frozenset(
    "and or so then is are was were be which that this because since if when where thus hence therefore gives give equals "
    "makes make means we get to for the has have had but with und oder also ist sind gibt".split()
)
"""Words that lead from one statement to the next, and never stand in a unit."""
