"""What a syntax tree is worth: values with certified enclosures, names in scope, rounding. Imports latex and document."""
