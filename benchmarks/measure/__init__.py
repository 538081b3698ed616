"""The benchmarks behind benchmarks/run.py."""
