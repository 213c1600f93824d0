return require("lib.loop")
