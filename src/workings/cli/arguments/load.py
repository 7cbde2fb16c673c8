"""Loading what the user names: `my.py:Net`, `package.module:name`. Loading runs their code."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import re
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from workings.errors import WorkingsError, did_you_mean, kind_of

if TYPE_CHECKING:
    from torch import nn


def load(text: str) -> Any:
    """The object that `file.py:name` or `package.module:name` names.

    >>> load("math:tau")
    6.283185307179586
    """
    source, colon, name = text.rpartition(":")
    if not (colon and source and name) or "/" in name or "\\" in name:
        raise WorkingsError(
            f"Name an object in a file, such as my.py:Net, or in a module, such as package.models:Net; got {text!r}."
        )
    is_file = source.endswith(".py") or "/" in source or Path(source).is_file()
    module = _from_file(Path(source)) if is_file else _from_module(source)
    return _member(module, name, source)


def _member(module: Any, name: str, source: str) -> Any:
    """A name in a module, with dots for what is inside it; a missing one suggests the nearest."""
    found = module
    for part in name.split("."):
        if not hasattr(found, part):
            raise WorkingsError(f"{source} has no {part!r}.{_suggestion(part, _public(found))}")
        found = getattr(found, part)
    return found


def _public(holder: Any) -> list[str]:
    """Names a user may have meant: those written there first, imported ones last."""
    names = [name for name in vars(holder) if not name.startswith("_")] if hasattr(holder, "__dict__") else []
    return [name for name in names if not inspect.ismodule(getattr(holder, name))]


def _suggestion(name: str, names: list[str]) -> str:
    """
    >>> _suggestion("nett", ["net", "train"]), _suggestion("x", ["net"]), _suggestion("x", [])
    (' Did you mean net?', ' It has: net.', '')
    """
    more = ", …" if len(names) > 8 else ""
    return did_you_mean(name, names, f"It has: {', '.join(names[:8])}{more}." if names else "")


def _from_file(path: Path) -> ModuleType:
    """Run a file as a module; files beside it can be imported by it."""
    if not path.is_file():
        what = "is a directory, not a file" if path.is_dir() else "does not exist"
        beside = path.parent.glob("*.py") if path.parent.is_dir() else ()
        raise WorkingsError(f"{path} {what}.{did_you_mean(path.name, beside)}")
    _check_syntax(path)
    spec = importlib.util.spec_from_file_location(path.stem, path.resolve())
    if spec is None or spec.loader is None:
        raise WorkingsError(f"{path} is not a Python file.")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.resolve().parent))
    sys.modules.setdefault(path.stem, module)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise WorkingsError(f"{path} failed while it was loaded, {_place(error, path)}: {_error_text(error)}") from error
    return module


def _from_module(name: str) -> ModuleType:
    """Import a module by its dotted name, from the working directory too."""
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        return importlib.import_module(name)
    except SyntaxError as error:
        raise WorkingsError(_error_text(error)) from error
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(f"{error.name}.")):
            hint = f" Did you mean {name}.py:…?" if Path(f"{name}.py").is_file() else ""
            raise WorkingsError(f"There is no module {error.name!r}.{hint}") from error
        raise WorkingsError(f"{name} failed while it was imported: {_error_text(error)}") from error
    except (Exception, SystemExit) as error:
        raise WorkingsError(f"{name} failed while it was imported: {_error_text(error)}") from error


def _error_text(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _place(error: BaseException, path: Path) -> str:
    """The last line of the user's own file that was running."""
    file = str(path.resolve())
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return f"in line {lines[-1]}" if lines else "outside its own lines"


def _check_syntax(path: Path) -> None:
    """Refuse a file that is not Python, with the line, a mark under the place and a hint."""
    try:
        source = path.read_text(encoding="utf-8")
        ast.parse(source)
    except UnicodeDecodeError as error:
        raise WorkingsError(f"{path} is not text in UTF-8: byte {error.start} cannot be read.") from error
    except SyntaxError as error:
        line = error.lineno or 1
        shown = source.splitlines()[line - 1].rstrip() if line <= len(source.splitlines()) else ""
        before = re.sub(r"\S", " ", shown[: max((error.offset or 1) - 1, 0)])
        hint = _missing_comma(source, error)
        reason = f"{path}, line {line}: {error.msg.removesuffix(' Perhaps you forgot a comma?')}"
        raise WorkingsError("\n".join(filter(None, [reason, f"  {shown}", f"  {before}^", hint]))) from None
    except ValueError as error:
        raise WorkingsError(f"{path} is not Python: {error}.") from error


def _missing_comma(source: str, error: SyntaxError) -> str:
    """A hint when a comma at the end of a line would take the error away, or move it further down."""
    lines = source.splitlines()
    first = error.lineno or 1
    last = min(max(error.end_lineno or first, first), len(lines) - 1)
    for number in range(max(first - 1, 1), last + 1):
        code = re.sub(r"\s*(#.*)?$", "", lines[number - 1])
        if code and code[-1] not in ",([{:":
            changed = [*lines[: number - 1], f"{code},", *lines[number:]]
            if _error_line("\n".join(changed)) > last:
                return f"perhaps a comma is missing at the end of line {number}"
    return f"perhaps a comma is missing in line {first}" if "forgot a comma" in error.msg else ""


def _error_line(source: str) -> float:
    """The line of the first syntax error; infinity when there is none."""
    try:
        ast.parse(source)
    except SyntaxError as error:
        return error.lineno or 0
    except ValueError:
        return 0
    return float("inf")


def load_module(text: str) -> nn.Module:
    """A model: an `nn.Module`, a class of them or a function that makes one, both without required arguments."""
    return module_from(text, load(text))


def module_from(text: str, found: Any) -> nn.Module:
    """The module that `found` is or makes; `text` is what the user called it."""
    from torch import nn

    if isinstance(found, nn.Module):
        return found
    if not callable(found) or (inspect.isclass(found) and not issubclass(found, nn.Module)):
        raise WorkingsError(f"{text} is {kind_of(found)}; give an nn.Module, or a class or function that makes one.")
    if needed := _required_arguments(found):
        name = text.rpartition(":")[2]
        raise WorkingsError(
            f"{text} needs {', '.join(needed)}. Write a function that makes it, such as\n"
            f"  def make():\n      return {name}({', '.join(f'{n}=…' for n in needed)})\nand name that."
        )
    try:
        module = found()
    except Exception as error:
        raise WorkingsError(f"{text} failed when it was called: {_error_text(error)}") from error
    if not isinstance(module, nn.Module):
        raise WorkingsError(f"{text} returned {kind_of(module)}, not an nn.Module.")
    return module


def _required_arguments(call: Any) -> list[str]:
    """The arguments that a call cannot do without."""
    usual = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    try:
        parameters = inspect.signature(call).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in parameters if p.default is p.empty and p.kind not in usual]
