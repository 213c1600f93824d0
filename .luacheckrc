std = "luajit"
max_line_length = 100
files["spec"] = { std = "luajit+busted", max_line_length = 120 }
files["examples/*/main_spec.lua"] = { std = "luajit+busted" }
files["spec/data"] = { max_line_length = false } -- a case is a line
files["lua/perilune/tool"] = { max_line_length = 120 }
files["lua/perilune/tool/api.lua"] = { max_line_length = false } -- texts of files
files["lua/perilune/tool/api_module.lua"] = { max_line_length = false }
files["lua/perilune/tool/template.lua"] = { max_line_length = false }
files["lua/perilune/explore"] = { max_line_length = 120 }
