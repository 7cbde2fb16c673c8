"""Claims in words that a system of the catalogue refutes, as a table (`claims.toml`) and what reads it."""

from workings.check.prose.judge import claims_in_prose

__all__ = ["claims_in_prose"]
