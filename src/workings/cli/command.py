"""The commands as typer's classes, with a help and refusals of our own: what is needed, what came, what to do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.exceptions import TyperException

from workings.errors import WorkingsError, did_you_mean


class Command(TyperCommand):
    """A verb."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        takes_more, ctx.allow_extra_args = ctx.allow_extra_args, True
        if ctx.ignore_unknown_options and not takes_more:
            for word in args:
                if re.match("--[a-z]", word):  # and not an expression that begins with a minus
                    check_option(word, _flags(ctx), ctx.command_path)
        with _own_words(ctx):
            rest = super().parse_args(ctx, args)
        if rest and not takes_more:
            takes = " ".join(["only", *map(_label, _arguments(self))]) if _arguments(self) else "no arguments"
            hint = " Put what belongs together in quotes." if _arguments(self) else ""
            raise WorkingsError(f"{ctx.command_path} takes {takes}; {rest[0]!r} is one too many.{hint}")
        return rest

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:  # which a verb may raise itself
            raise WorkingsError(f"{ctx.command_path}: {error.message}") from None

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return [*(_label(one) if one.required else f"[{_label(one)}]" for one in _arguments(self)), "[OPTIONS]"]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """A row for each argument and option; typer's own name Python's types."""
        arguments = [(_label(one), _meaning(one)) for one in _arguments(self)]
        options = [(_option(one), _meaning(one)) for one in self.get_params(ctx) if one.param_type_name == "option"]
        for title, rows in (("Arguments", arguments), ("Options", options)):
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


class Group(TyperGroup):
    """Several verbs under one name."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        with _own_words(ctx):
            return super().parse_args(ctx, args)

    def list_commands(self, ctx: Any) -> list[str]:
        return sorted(self.commands)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if self.get_command(ctx, args[0]) is None:
            hint = did_you_mean(args[0], self.commands, f"`{ctx.command_path} --help` lists them.")
            raise WorkingsError(f"{ctx.command_path} has no command {args[0]!r}.{hint}")
        return super().resolve_command(ctx, args)


def _arguments(command: Any) -> list[Any]:
    return [one for one in command.params if one.param_type_name == "argument"]


def _label(one: Any) -> str:
    """How an argument or an option is called."""
    return str(one.metavar or one.name.upper() if one.param_type_name == "argument" else max(one.opts, key=len))


def _option(one: Any) -> str:
    """An option with the word for its value: `--level error|likely`, `--digits N`."""
    words = {int: "N", float: "X"}
    choices = "|".join(_choices(one))
    value = "" if one.is_flag else one.metavar or choices or words.get(one.type_descriptor.annotation, "TEXT")
    return f"{_label(one)} {value}".rstrip()


def _choices(one: Any) -> list[str]:
    return [str(choice.value) for choice in one.type_descriptor.choices or ()]


def _meaning(one: Any) -> str:
    """The help of an argument or an option, with its default and its range."""
    default = getattr(one.default, "value", one.default)
    shown = "" if default is None or default is False else f"default: {default}"
    needed = "required" if one.required and one.param_type_name == "option" else ""
    known = "; ".join(filter(None, [needed, shown, _range(one).removeprefix(" of ").strip()]))
    return f"{one.help}  [{known}]" if known else str(one.help)


def _range(one: Any) -> str:
    match one.min, one.max:
        case None, None:
            return ""
        case low, None:
            return f" of at least {low:g}"
        case low, high:
            return f" from {low:g} to {high:,}"


@contextmanager
def _own_words(ctx: Any) -> Iterator[None]:
    """Refuse what typer refuses, in our words. Its help, which it raises for a command without words, passes."""
    try:
        yield
    except typer.BadParameter as error:
        raise WorkingsError(_missing(ctx, error.param) if error.__cause__ is None else _misfit(error)) from None
    except TyperException as error:
        if (name := getattr(error, "option_name", None)) is None:
            raise
        check_option(name, _flags(ctx), ctx.command_path)
        one = next(one for one in ctx.command.get_params(ctx) if name in one.opts)
        needs = "a value" if one.nargs == 1 else f"{one.nargs} values"
        said = "takes no value: write it alone." if one.is_flag else f"needs {needs}: {_option(one)}. {one.help}"
        raise WorkingsError(f"{name} {said}") from None


def check_option(word: str, known: list[str], command: str) -> None:
    """An option is among those that a command has."""
    flag = word.partition("=")[0]
    if flag not in known:
        hint = did_you_mean(flag, known, f"`{command} --help` lists them.")
        raise WorkingsError(f"{command} has no option {flag}.{hint}")


def _flags(ctx: Any) -> list[str]:
    return [flag for one in ctx.command.get_params(ctx) for flag in one.opts]


def _missing(ctx: Any, one: Any) -> str:
    """What a command cannot do without, and an example of it."""
    example = re.search(r"workings .+", ctx.command.help or "")
    help = f"{one.help[0].lower()}{one.help[1:]}"
    return f"{ctx.command_path} needs {_label(one)}: {help}" + (f" Example: {example[0].strip()}" if example else "")


def _misfit(error: Any) -> str:
    """A value that is not of the option's type, or out of its range."""
    from workings.train.settings import WORDS

    one, came = error.param, error.__cause__.errors()[0]["input"]
    if choices := _choices(one):
        return f"{_label(one)} is one of {', '.join(choices)}; got {came!r}."
    return f"{_label(one)} is {WORDS[one.type_descriptor.annotation]}{_range(one)}; got {came!r}."
