"""What a finished run is worth: figures on its test data, on any text, mistake by mistake. One idea per file."""
