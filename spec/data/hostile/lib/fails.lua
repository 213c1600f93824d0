error("module fails")
