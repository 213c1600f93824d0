"""What scripts/bench/run is made of; the Python standard library alone."""
