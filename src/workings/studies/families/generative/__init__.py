"""Studies of codes: Bayes' rule, the evidence bound, auto-encoders linear, deep and variational."""
