"""Measures what the project promises of its speed and memory: see benchmarks/README.md."""

if __name__ == "__main__":  # not in the fresh processes that benchmarks start
    from measure.command import main
    raise SystemExit(main())
