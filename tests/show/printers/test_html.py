"""The page: well formed, nothing of the trace read as markup, no request, no script error in a real browser."""

import math
import re
import shutil
import subprocess
from html.parser import HTMLParser

import pytest
import torch

from tests.formulas import at
from workings import exact, show
from workings.exact import ExactTensor
from workings.show.formula.mathml import name, value
from workings.show.formula.notation import mathml_formula
from workings.show.options import Options
from workings.show.printers.html import html
from workings.show.value import html_value
from workings.show.write.sparkline import summary
from workings.trace.formula.tree import Apply, Call, Code, Index, Leaf, Number, Sequence
from workings.trace.operations import OPERATIONS
from workings.trace.record import Trace
from workings.trace.step import Step, Where

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
VOID = {"meta", "br", "hr", "link", "img", "input"}
Q, K, V, S, A = (Leaf(letter) for letter in "QKVSA")
RELATION = '<mo form="infix" lspace="0" rspace="0.28em">=</mo>'
EVIL = "<script>alert(1)</script>\"'&<img src=x onerror=alert(2)>"


def str_of_shape(x) -> str:
    return f"{type(x).__name__} {'×'.join(map(str, x.shape))}"


def attention() -> Trace:
    """The 2×2 attention worked exactly, with a module, a loop, a gradient and a failing statement."""
    here = lambda line: Where("examples/attention.py", line)  # noqa: E731
    q, k, v = exact("1 0; 0 1"), exact("1 1; 1 0"), exact("2 0; 0 1")
    s = q @ k.mT / math.sqrt(2)
    a = s.softmax(-1)
    scores = Apply("div", (Apply("matmul", (Q, Apply("transpose", (K,)))), Apply("sqrt", (Number(2),))))
    torch.manual_seed(0)
    large = torch.randn(64, 64)
    weights = torch.randn(64, 64)
    gradient = Step(
        "gradient", "∂L/∂S", "", Apply("mul", (A, Leaf("∂L/∂A"))), {"A": a, "∂L/∂A": v}, a * v, note="softmax, row by row"
    )
    inner = [
        Step(
            "assign",
            "h",
            "h = F.linear(x, self.W, self.b)",
            Apply("linear", (Leaf("x"), Leaf("self.W"), Leaf("self.b"))),
            {},
            large,
        ),
        Step("assign", "y_hat", "y_hat = h.relu()", Apply("relu", (Leaf("h"),)), {"h": large}, large.relu(), here(31)),
    ]
    turns = [
        Step(
            "turn",
            f"i = {i}",
            children=[Step("assign", "w", "w = w / 2", Apply("div", (Leaf("w"), Number(2))), {"w": 1 / 2**i}, 0.5 / 2**i)],
        )
        for i in range(3)
    ]
    steps = [
        Step("input", "Q", "", None, {}, q),
        Step("input", "K", "", None, {}, k),
        Step("input", "V", "", None, {}, v),
        Step("assign", "S", "S = Q @ K.mT / math.sqrt(2)", scores, {"Q": q, "K": k}, s, here(7), address="S"),
        Step(
            "assign", "A", "A = S.softmax(dim=-1)", Apply("softmax", (S,), (("dim", -1),)), {"S": s}, a, here(8), [gradient]
        ),
        Step("assign", "Z", "Z = A @ V", Apply("matmul", (A, V)), {"A": a, "V": v}, a @ v, here(9)),
        Step(
            "module",
            "blocks.0.mlp",
            "x = self.mlp(x)",
            Call("self.mlp", (Leaf("x"),)),
            {"x": large},
            large @ weights,
            here(12),
            inner,
        ),
        Step("loop", "for i in range(3)", "for i in range(3):", where=here(14), children=turns),
        Step(
            "error",
            "",
            "logits = self.head(x)",
            Call("self.head", (Leaf("x"),)),
            {"x": torch.zeros(1, 144), "self.head.weight": torch.zeros(10, 120)},
            where=here(20),
            note="nn.Linear(120, 10) received 144 features = 16·3·3.\nTry nn.Linear(144, 10).",
        ),
    ]
    trace = Trace(Step("root", "attention", children=steps), agreement="matches the unmodified run (largest difference 0)")
    trace.error = RuntimeError("mat1 and mat2 shapes cannot be multiplied (1x144 and 120x10)")
    return trace


class Nesting(HTMLParser):
    """Every element is closed where it must be; collects tags, text and attributes."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.words, self.attributes = [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, *pair) for pair in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, *pair) for pair in attrs]

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-3:]}"
        self.open.pop()

    def handle_data(self, data):
        self.words.append(data)


def parsed(page: str) -> Nesting:
    parser = Nesting()
    parser.feed(page)
    parser.close()
    assert not parser.open
    return parser


def test_the_page_is_well_formed_and_self_contained():
    page = html(attention(), Options(depth=3))
    found = parsed(page)
    assert {"math", "mfrac", "msqrt", "msup", "mtable", "svg", "details", "summary"} <= set(found.tags)
    without_data = re.sub(r'data:(font/woff2|image/png);base64,[\w+/=]+|data-values="[^"]*"|// .*', "", page)
    assert not re.search(r"https?:|//\w|@import|url\((?!\))", without_data)
    assert not [
        a
        for a in found.attributes
        if a[1] in ("src", "onclick", "onload") or (a[1] == "href" and not a[2].startswith(("#", "data:image/png;")))
    ]
    assert found.tags.count("script") == 1
    assert ("meta", "name", "viewport") in found.attributes


def test_what_is_said():
    page = html(attention(), Options())
    words = "".join(parsed(page).words)
    assert "matches the unmodified run (largest difference 0)" in words
    assert "nn.Linear(120, 10) received 144 features = 16·3·3." in words
    assert "attention.py:7" in words and "S = Q @ K.mT / math.sqrt(2)" in words
    assert "64×64 float32" in words and "3 turns inside" in words and "0.6698" in words


def test_substituted_values_stand_between_formula_and_result():
    step = Step("assign", "z", "z = x * y", Apply("mul", (Leaf("x"), Leaf("y"))), {"x": 2, "y": 3}, 6)
    page = html(Trace(Step("root", children=[step])), Options())
    parts = re.findall(r'<math displaystyle="true">(.*?)</math>', page)
    assert parts == [
        "<mi>z</mi>",
        RELATION + "<mrow><mi>x</mi><mo>·</mo><mi>y</mi></mrow>",
        RELATION + "<mrow><mn>2</mn><mo>·</mo><mn>3</mn></mrow>",
        RELATION + "<mn>6</mn>",
    ]
    without = html(Trace(Step("root", children=[step])), Options(substitution="none"))
    assert re.findall(r'<math displaystyle="true">(.*?)</math>', without) == [parts[0], parts[1], parts[3]]


def test_depth_opens_levels():
    closed, opened = html(attention(), Options(depth=1)), html(attention(), Options(depth=2))
    assert '<details class="inside">' in closed and '<details class="inside" open>' not in closed
    assert opened.count('<details class="inside" open>') == 2  # the module and the loop; turns stay folded


def test_gradients_stand_open_under_their_line():
    page = html(attention(), Options())
    start = page.index("<code>A = S.softmax(dim=-1)</code>")
    assert page.index('<ol class="gradients">', start) < page.index("Z = A @ V")


def test_nothing_of_the_trace_is_markup():
    kinds = ["assign", "call", "module", "loop", "error", "gradient", "input", "return"]
    steps = [
        Step(kind, EVIL, EVIL, f, {EVIL: EVIL}, result, Where(EVIL, 1), note=EVIL, address=EVIL)
        for kind in kinds
        for f in (
            None,
            Leaf(EVIL),
            Call(EVIL, (Leaf(EVIL), Number(EVIL)), ((EVIL, EVIL),)),
            Code(EVIL),
            Apply(EVIL, (Leaf(EVIL),)),
        )
        for result in (EVIL, [EVIL], {EVIL: torch.zeros(2)}, object(), torch.zeros(9, 9))
    ]
    options = (("at", Index((Leaf(EVIL),))), ("by", EVIL), ("dim", EVIL), ("relation", EVIL))
    steps += [Step("assign", "y", "", Apply(op, (Leaf(EVIL),) * 3, options)) for op in OPERATIONS]
    trace = Trace(
        Step("root", EVIL, children=steps, note=EVIL),
        agreement=EVIL,
        error=ValueError(EVIL),
        first_bad=steps[0],
        notes=[EVIL],
    )
    found = parsed(html(trace, Options(depth=9), title=EVIL))
    assert "img" not in found.tags and found.tags.count("script") == 1
    assert EVIL in "".join(found.words)


def test_control_characters_and_half_characters_are_made_visible():
    page = html(Trace(Step("root", children=[Step("assign", "a\x00\x1b\ud800\u202eb", "x", result=1)])), Options())
    assert "a␀␛\ufffd\ufffdb" in page
    page.encode("utf-8")


def test_only_and_hide():
    shown = html(attention(), Options(only=frozenset({"y_hat"})))
    assert "y_hat = h.relu()" in shown and "blocks.0.mlp" in shown and "Z = A @ V" not in shown
    assert "Z = A @ V" not in html(attention(), Options(hide=frozenset({"Z"})))


def test_results_that_are_no_tensors():
    class Broken:
        def __repr__(self):
            raise RuntimeError("no")

    results = [
        None,
        True,
        "text",
        2.5,
        1j,
        (1, 2),
        {"a": torch.zeros(2)},
        Broken(),
        [Broken()],
        torch.zeros(0, 3),
        torch.tensor(1j),
    ]
    results += [
        torch.zeros(2, 2, 2),
        torch.zeros(100, dtype=torch.bool),
        torch.zeros(3, 3).to_sparse(),
        torch.zeros(9, 9, device="meta"),
    ]
    results += [exact("w x; 1 0"), torch.full((9, 9), math.nan), float("nan"), 10**5000]
    found = parsed(
        html(
            Trace(Step("root", children=[Step("assign", "a", "a = f()", Call("f", ()), {}, r) for r in results])), Options()
        )
    )
    words = "".join(found.words)
    assert "Broken, its repr fails" in words and "81 NaN" in words


def test_deep_nesting_stays_bounded():
    deep = Step("call", "f")
    for _ in range(150):
        deep = Step("call", "f", children=[Step("assign", "y", result=1), deep])
    f = Leaf("x")
    for _ in range(3000):
        f = Apply("add", (f, Number(1)))
    page = html(Trace(Step("root", children=[deep, Step("assign", "y", "y = x + 1 + …", f)])), Options())
    parsed(page)
    assert "180 steps nested deeper are not shown." in page and "y = x + 1 + …" in page


@pytest.mark.parametrize("result", [exact("1 1/2; sqrt(2) 0"), torch.ones(64, 64), torch.ones(8, 8)], ids=str_of_shape)
def test_500_statements_are_less_than_three_megabytes(result):
    torch.manual_seed(0)
    vary = (lambda i: result + i) if isinstance(result, ExactTensor) else (lambda i: torch.randn(result.shape))
    values = [vary(i) for i in range(501)]
    f = Apply("matmul", (Leaf("a"), Leaf("b")))
    steps = [
        Step("assign", f"x{i}", f"x{i} = a @ b", f, {"a": values[i], "b": values[i]}, values[i + 1], Where("f.py", i))
        for i in range(500)
    ]
    page = html(Trace(Step("root", children=steps)), Options())
    assert len(page.encode()) < 3_000_000


def test_a_picture_that_comes_again_is_drawn_once():
    x = torch.randn(40, 40)
    steps = [Step("assign", f"x{i}", result=x.clone()) for i in range(9)]
    page = html(Trace(Step("root", children=steps)), Options())
    assert page.count("data:image/png") == 1 and page.count("<use ") == 8


def test_a_thousand_pictures_of_small_matrices_are_less_than_three_megabytes():
    torch.manual_seed(0)
    steps = [Step("gradient", f"∂L/∂w{i}", result=torch.randn(8, 8, 3, 3)) for i in range(1000)]
    page = html(Trace(Step("root", children=steps)), Options())
    assert page.count("<svg") == 1000 and len(page.encode()) < 3_000_000


def test_a_value_that_is_handed_on_is_looked_at_once(monkeypatch):
    looked = []
    monkeypatch.setattr(html_value, "summary", lambda x: looked.append(x) or summary(x))
    x = torch.randn(40, 40)
    steps = [Step("assign", name, result=x) for name in ("x", "y", "z")]
    page = html(Trace(Step("root", children=steps)), Options())
    assert len(looked) == 1 and all(f'aria-label="Heatmap of {name}: 40×40"' in page for name in "xyz")


def test_booleans_are_letters():
    page = html(Trace(Step("root", children=[Step("assign", "m", result=torch.tensor([[True, False]]))])), Options())
    assert "<mtd><mi>T</mi></mtd><mtd><mi>F</mi></mtd>" in page and "Fals" not in page


def test_decimals_have_one_format_and_room_for_the_digits_they_lack():
    page = html(
        Trace(Step("root", children=[Step("assign", "m", result=torch.tensor([[12.5], [0.0], [-0.25]]))])), Options()
    )
    cells = re.findall(r"<mtd>(.*?)</mtd>", page)
    assert cells == ["<mn>12.50</mn>", "<mn>0</mn><mphantom><mn>.50</mn></mphantom>", "<mn>−0.25</mn>"]


def test_a_term_that_repeats_in_a_long_line_gets_a_name():
    row = "exp(sqrt(2))/(1+exp(sqrt(2))) 1/(1+exp(sqrt(2))) exp(sqrt(2)) 1+2*exp(sqrt(2)) 3+exp(sqrt(2))"
    long = exact(f"{row}; {row}")
    page = html(Trace(Step("root", children=[Step("assign", "y", result=long), Step("assign", "u", result=1)])), Options())
    assert '<mfrac><mi class="named">v</mi><mrow><mn>1</mn><mo>+</mo><mi class="named">v</mi></mrow></mfrac>' in page
    assert page.count("<msqrt>") == 1 and '<span class="with">with <math' in page and "<mn>4.113</mn>" in page
    short = html(Trace(Step("root", children=[Step("assign", "y", result=long[:1])])), Options())
    assert 'class="named"' not in short


def test_a_gradient_inside_a_fraction_stands_on_the_line():
    gradient, f = Leaf("∂L/∂S"), Apply("div", (Apply("matmul", (Leaf("∂L/∂S"), K)), Number(2)))
    assert "<mfrac><mrow><mrow><mrow>" in mathml_formula(f) and mathml_formula(f).count("<mfrac>") == 1
    assert mathml_formula(gradient).count("<mfrac>") == 1


def test_a_value_that_stands_there_is_not_written_again():
    page = html(Trace(Step("root", children=[Step("assign", "loss", "loss = None", Number(None), {}, None)])), Options())
    assert page.partition("<main")[2].count("None</mtext>") == 1


def test_ids_are_addresses_and_each_is_there_once():
    found = parsed(html(attention(), Options()))
    ids = [value for _, key, value in found.attributes if key == "id"]
    links = [value for tag, key, value in found.attributes if key == "href" and value.startswith("#") and tag == "a"]
    assert {"Q", "S", "A", "A.∂L/∂S"} <= set(ids) and len(ids) == len(set(ids)) and not re.search(r"\s", "".join(ids))
    assert links and {link[1:] for link in links} <= set(ids)


def test_contents_lead_to_what_can_be_unfolded():
    page = html(attention(), Options())
    nav = page[page.index("<nav") : page.index("</nav>")]
    assert 'href="#A">A</a>' in nav and re.search(r'href="#[^"]*">blocks.0.mlp <span>2</span></a>', nav)
    assert "<nav" not in html(Trace(Step("root", children=[Step("assign", "a", result=1)])), Options())
    branches = [Step("branch", "if", "if a:", result=True, children=[]) for _ in range(9)]
    page = html(Trace(Step("root", children=[*branches, Step("assign", "a", result=1)])), Options())
    assert re.findall(r'<li><a href="[^"]*">(.*?)</a>', page) == ["a"]


def test_a_helper_that_is_called_often_is_counted():
    def exists(value):
        return value is not None

    def f(x, y=None):
        for _ in range(4):
            if exists(y) or exists(x):
                x = x + 1
        return x

    page = show(f, torch.ones(2)).html()
    assert "Called often and computing nothing, so not opened: <code>exists</code> 8×" in page
    assert "return value is not None" not in page


def test_a_helper_that_is_called_a_few_times_is_shown():
    def exists(value):
        return value is not None

    def f(x):
        if exists(x):
            x = x + 1
        return x

    page = show(f, torch.ones(2)).html()
    assert "return value is not None" in page and "Called often" not in page


# ------------------------------------------------------------------------------------------------- MathML


@pytest.mark.parametrize(
    ("word", "markup"),
    [
        ("W_q", "<msub><mi>W</mi><mi>q</mi></msub>"),
        ("self.x1", "<msub><mi>x</mi><mn>1</mn></msub>"),
        ("alpha", "<mi>α</mi>"),
        ("y_hat", '<mover accent="true"><mi>y</mi><mo>^</mo></mover>'),
        ("a, b", "<mrow><mi>a</mi><mo>,</mo><mi>b</mi></mrow>"),
        ("x.shape[-1]", "<mtext>x.shape[-1]</mtext>"),
    ],
)
def test_names(word, markup):
    assert name(word) == markup


@pytest.mark.parametrize(
    ("f", "words"),
    [
        (Apply("mul", (Apply("add", (Q, K)), V)), "(Q+K)⊙V"),
        (Apply("sub", (Q, Apply("sub", (K, V)))), "Q−(K−V)"),
        (Apply("sub", (Apply("sub", (Q, K)), V)), "Q−K−V"),
        (Apply("transpose", (Apply("matmul", (Q, K)),)), "(QK)⊤"),
        (Apply("pow", (Apply("neg", (Q,)), Number(2))), "(−Q)2"),
        (Apply("matmul", (Apply("div", (Q, K)), V)), "QKV"),
        (Apply("mul", (Number(2), Q)), "2·Q"),
        (Apply("add", (Q, Number(-1))), "Q+(−1)"),
        (Apply("linear", (Q, K, V)), "QK⊤+V"),
        (Apply("and", (Apply("or", (Q, K)), Apply("compare", (Q, V), (("relation", "<"),)))), "(Q∨K)∧(Q<V)"),
        (Apply("cat", (Sequence((Q, K)),), (("dim", 0),)), "cataxis 0(Q,K)"),
        (Apply("scaled_dot_product_attention", (Q, K, V)), "softmax(QK⊤d)V"),
        (Apply("index", (Q,), (("at", at("0, :")),)), "Q0, :"),
        (Number(1e-5), "10−5"),
    ],
)
def test_formulas_and_their_brackets(f, words):
    found = parsed(mathml_formula(f))
    assert "".join(found.words) == words


def test_an_exact_value_by_hand():
    root = "<msqrt><mn>2</mn></msqrt>"
    power = f'<msup><mi>e</mi><mrow><mn>1</mn><mo lspace="0" rspace="0">/</mo>{root}</mrow></msup>'
    expected = f"<mfrac>{power}<mrow><mn>1</mn><mo>+</mo>{power}</mrow></mfrac>"
    (v,) = exact("e^(1/sqrt(2))/(1+e^(1/sqrt(2)))").elements()
    assert value(v).string == expected


# ------------------------------------------------------------------------------------------------- a browser


needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")
FLAGS = """--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-sync
--disable-component-update --enable-logging=stderr --virtual-time-budget=2000 --dump-dom""".split()


def opened(page: str, folder) -> tuple[str, str, str]:
    """The page as Chromium has it after loading, what it logged, and its log of the network."""
    file, log = folder / "page.html", folder / "net.json"
    file.write_text(page, encoding="utf-8")
    places = [f"--user-data-dir={folder / 'profile'}", f"--log-net-log={log}", file.as_uri()]
    done = subprocess.run([CHROMIUM, *FLAGS, *places], capture_output=True, text=True, timeout=90)
    return done.stdout, done.stderr, log.read_text(encoding="utf-8", errors="replace")


@needs_chromium
def test_chromium_opens_it_without_a_request_or_a_script_error(tmp_path):
    page = html(attention(), Options(depth=3))
    document, log, network = opened(page, tmp_path)
    assert document.count("<math") == page.count("<math") > 20
    assert "CONSOLE" not in log, log
    hosts = set(re.findall(r"(?:https?|wss?)://([\w.-]+)", network))
    assert {host for host in hosts if not host.endswith(CHROMIUM_ITSELF)} == set()


CHROMIUM_ITSELF = ("google.com", "googleapis.com", "gvt1.com", "gstatic.com", "chromium.org")
"""Hosts that the browser may name of its own accord; the page has no address in it at all."""


@needs_chromium
def test_chromium_runs_no_script_but_the_pages_own(tmp_path):
    intruder = "<script>document.body.append('intruded')</script><img src='http://127.0.0.1:9/x.png'>"
    document, log, network = opened(html(attention(), Options()).replace("</main>", intruder + "</main>"), tmp_path)
    assert document.count("intruded") == 1  # in the script itself: it did not run
    assert "CONSOLE" in log and "Content Security Policy" in log
    assert "127.0.0.1:9" not in re.sub(r"file://\S*", "", network)
