"""The backward pass as steps: who made and read which value, what each statement adds. Imports operations, follow,
capture and what they import."""
