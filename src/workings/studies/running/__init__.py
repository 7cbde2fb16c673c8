"""Running studies: with their controls, a progress bar, and a memory of what was run before."""
