"""Find the wrong line in a worked solution: document → formulas → claims → verdicts."""
