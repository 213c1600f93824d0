-- A module that fails while it is loaded.
error("module fails")
