-- The content of a file of perilune run --record.

local e2e = require("spec.support.e2e")

local M = {}

local unpack = [[
import sys, zlib
data = open(sys.argv[1], "rb").read()
at, out = len("perilune record 1\n"), b""
while at + 5 <= len(data):
    size = int.from_bytes(data[at + 1:at + 5], "little")
    body = data[at + 5:at + 5 + size]
    for start in range(1, 16):
        try:
            out += zlib.decompress(body[start:])
            break
        except zlib.error:
            pass
    at += 5 + size
sys.stdout.buffer.write(out)
]]

-- All texts of the record.
function M.texts(path)
  local file = e2e.write_file(path .. ".py", unpack)
  local pipe = assert(io.popen(("python3 '%s' '%s'"):format(file, path)))
  local text = pipe:read("*a")
  pipe:close()
  return text
end

return M
