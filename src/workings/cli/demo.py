"""`workings demo`: an attention step worked exactly, forward and backward.

    S = Q Kᵀ / √2     scores
    A = softmax(S)    weights, each row sums to 1
    Z = A V           output

The code is ordinary PyTorch; only the tensors are exact.
"""

import typer


def demo() -> None:
    """Work an attention step exactly: every matrix, its decimals, and a gradient.

    Example: workings demo
    """
    from math import sqrt

    from workings.cli.printing import print_worked
    from workings.exact import exact

    Q = exact("1 0; 0 1")
    K = exact("1 1; 1 0", requires_grad=True)
    V = exact("2 0; 0 1")
    S = Q @ K.mT / sqrt(2)
    A = S.softmax(dim=-1)
    Z = A @ V
    Z.sum().backward()

    typer.echo("Attention worked exactly: Z = softmax(Q Kᵀ / √2) V, then the gradient of sum Z by backward().\n")
    print_worked("Q", Q)
    print_worked("K", K)
    print_worked("V", V)
    print_worked("S = Q Kᵀ / √2", S)
    print_worked("A = softmax(S)", A)
    print_worked("Z = A V", Z)
    print_worked("∂(sum Z)/∂K", K.grad)
