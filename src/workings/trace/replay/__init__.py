"""The unmodified run beside the captured one: what a run may change, put back before and compared after. Imports code and
tensors."""
