"""What every printer writes with: blocks of text, decimals, names, escapes. Imports nothing else of `show`."""
