"""Running rewritten code and recording its steps. Imports code, definitions, optimizer, replay and what they import."""
