"""How a claim is decided: by proof, by a closed form, by certified bounds, by a test that may be looked at any time."""
