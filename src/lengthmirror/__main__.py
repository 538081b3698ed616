"""``python -m lengthmirror`` is the command ``lengthmirror``."""

import sys

from .cli import main

sys.exit(main())
