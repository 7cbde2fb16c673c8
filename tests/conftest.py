"""Every run of the tests is the same run: one thread a process, generated examples from a fixed seed."""

import os

import hypothesis

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
hypothesis.settings.register_profile("repeatable", deadline=None, derandomize=True, print_blob=False)
hypothesis.settings.load_profile("repeatable")
