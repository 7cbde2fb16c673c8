"""`python -m workings` is the command `workings`."""

from workings.cli import main

if __name__ == "__main__":
    main()
