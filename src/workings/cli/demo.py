"""`workings demo`: an attention step worked exactly, forward and backward.

The code is ordinary PyTorch; only the tensors are exact.
"""


def demo() -> None:
    """Work an attention step exactly, forward and backward.

    Example: workings demo
    """
    from workings.cli.arguments.direct import direct
    from workings.cli.arguments.library import find
    from workings.cli.output import say, str_for_terminal
    from workings.exact import exact
    from workings.show import show

    say("Z = softmax(Q Kᵀ / √d) V, statement by statement, then backwards from the sum of Z:\n")
    with direct():
        work = show(find("attention"), exact("1 0; 0 1"), exact("1 1; 1 0"), exact("2 0; 0 1"), backward=True)
        say(str_for_terminal(work), coloured=True)
    say('\nYour own: workings show my.py:f x="1 0; 0 1" --backward')
