"""The backward pass as steps: who made and read which value, what each statement adds. Imports rules, follow, capture and
what they import."""
