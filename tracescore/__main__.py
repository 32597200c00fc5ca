"""``python -m tracescore``: the command line."""

from tracescore.cli import main

if __name__ == "__main__":
    main()
