"""Claims in words that a demonstration refutes: a table (`claims.toml`) and what reads it. Imports claims and below."""

from workings.check.prose.judge import claims_in_prose

__all__ = ["claims_in_prose"]
