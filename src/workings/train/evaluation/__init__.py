"""What a finished run is worth: `open_run` opens one; figures on its test data, on any text, mistake by mistake.

Asks the recipes what they can do, and imports every other room; the command line prints what it finds.
"""
