"""The door: `python run.py --exp NAME`; `python run.py --list` names the experiments."""

import sys

from tf_relational import quiet

if __name__ == "__main__":
    quiet.start()
    from tf_relational.experiments.command_line import main

    sys.exit(main(sys.argv[1:]))
