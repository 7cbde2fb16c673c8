"""Values by size: exact entries, decimals, one line with a picture. Imports formula and write."""
