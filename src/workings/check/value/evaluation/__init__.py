"""The value of a formula: one rule for each kind of formula. `workings.check.value.evaluate` is the way in."""
