"""The parts of scripts/bench/run. They use only the Python standard library."""
