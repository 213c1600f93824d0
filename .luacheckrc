std = "luajit"
max_line_length = 100
files["spec"] = { std = "luajit+busted", max_line_length = 120 }
files["spec/data"] = { max_line_length = false } -- a case is a line
