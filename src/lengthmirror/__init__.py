"""Is a judge's preference for the longer answer a length preference, or does it follow quality?"""

__version__ = "0.1.0"
