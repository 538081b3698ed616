"""What a running benchmark says on standard error."""

import sys
import time

STARTED = time.monotonic()


def say(text: str) -> None:
    """One line with the minutes since this process began."""
    minutes, seconds = divmod(int(time.monotonic() - STARTED), 60)
    print(f"[{minutes:02}:{seconds:02}] {text}", file=sys.stderr, flush=True)
