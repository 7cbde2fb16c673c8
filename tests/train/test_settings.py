"""Settings: checked when they are made, compared by name, found by their nearest spelling."""

from dataclasses import dataclass

import pytest

from tests.train.tiny import Settings
from workings.errors import WorkingsError
from workings.train import Training
from workings.train.recipes import recipe
from workings.train.settings import setting


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"steps": 0}, "steps is at least 1; got 0."),
        ({"steps": 2.5}, "steps is a whole number; got 2.5."),
        ({"steps": True}, "steps is a whole number; got True."),
        ({"steps": "ten"}, "steps is a whole number; got 'ten'."),
        ({"rate": -1.0}, "rate is at least 0; got -1.0."),
        ({"rate": float("nan")}, "rate is at least 0; got nan."),
        ({"rate": None}, "rate is a number; got None."),
        ({"average": 1.0}, "average is less than 1; got 1.0."),
        ({"shard": 1}, "shard is true or false; got 1."),
        ({"optimizer": "adam"}, "optimizer is one of adamw, sgd, muon; got 'adam'."),
        ({"seed": -1}, "seed is at least 0; got -1."),
    ],
)
def test_a_wrong_value_is_refused(given, message):
    with pytest.raises(WorkingsError) as error:
        Training(**given)
    assert str(error.value) == message


def test_a_whole_number_may_stand_for_a_number():
    assert Training(rate=1, clip=2).clip == 2


def test_a_subclass_may_have_other_defaults():
    @dataclass(frozen=True)
    class Short(Training, steps=5, decay=0.5):
        width: int = setting(3, "hidden units")

    @dataclass(frozen=True)
    class Shorter(Short, steps=2):
        pass

    assert (Short().steps, Short().decay, Short().width) == (5, 0.5, 3)
    assert (Shorter().steps, Shorter().decay, Shorter().width) == (2, 0.5, 3)
    assert Training().steps == 1000 and [*Shorter().json()] == [*Training().json(), "width"]
    with pytest.raises(WorkingsError, match="steps is at least 1; got 0"):  # the range stays
        Short(steps=0)


def test_settings_survive_being_written():
    settings = Settings(steps=7, width=9, shard=True)
    assert Settings.read(settings.json()) == settings


@pytest.mark.parametrize(
    ("name", "hint"),
    [("stepz", ". Did you mean steps?"), ("widht", ". Did you mean width?"), ("zzz", ". It has: steps, batch, ")],
)
def test_an_unknown_name_suggests_the_nearest(name, hint):
    with pytest.raises(WorkingsError) as error:
        Settings.read({name: 1})
    assert str(error.value).startswith(f"Settings has no setting {name!r}{hint}")


def test_every_difference_is_named():
    assert Training().difference(Training().json()) == ""
    other = {**Training(steps=5).json(), "new": 3}
    assert Training().difference(other) == "steps is 1000 here and 5 there, new is None here and 3 there"


def test_every_setting_has_help():
    assert all(known.metadata["help"] for known in Settings.__dataclass_fields__.values())


def test_an_unknown_recipe_suggests_the_nearest():
    with pytest.raises(WorkingsError) as error:
        recipe("digit")
    assert str(error.value) == "No recipe is called 'digit'. Did you mean digits?"
    with pytest.raises(WorkingsError, match=r"No recipe is called 'x'\. There are: shakespeare, bigram, "):
        recipe("x")
