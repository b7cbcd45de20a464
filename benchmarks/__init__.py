"""Speed and memory of ctxzoo beside a named peer; benchmarks/README.md says how to run them."""
