"""`with workings.trace():` code that is already running, followed frame by frame. Imports capture and what it imports."""
