-- Plans that begin alike, as branches of one execution: where a plan's next part is asked for, this
-- process is copied, and the copy continues with the plan. So everything before that point runs once
-- for all of them. A branch reports its findings as text; its worlds end with it.
--
-- `o`: execute(plan, how) -> execution, branch = {fork(), finish(text)} as perilune.world has them.

local buffer = require("string.buffer")

local M = {}

-- A plain value as text: strings, numbers, booleans, and tables of them.
M.pack = buffer.encode

-- The value of such a text; nil: the text is another one.
function M.unpack(text)
  local ok, value = pcall(buffer.decode, text)
  return ok and value or nil
end

-- Runs `plans`, which begin with the parts of `base`. look(plan, execution) makes a plain value, in the
-- branch. Returns index -> value. A plan has no value if it had no branch: its parts do not happen,
-- is_over() was true when it was its turn, or the system had no room for another process.
function M.run(o, base, plans, how, look, is_over)
  local found, others, mine = {}, {}, nil
  for i, plan in ipairs(plans) do
    others[i] = { i = i, parts = { unpack(plan, #base + 1) } }
  end
  how.others = others
  how.fork = function(other)
    if is_over() then
      return false
    end
    local is_branch, text = o.branch.fork()
    if is_branch then
      mine = other
    else
      found[other.i] = M.unpack(text)
    end
    return is_branch
  end
  local ok, result = pcall(o.execute, { unpack(base) }, how)
  if mine then
    ok, result = pcall(function()
      return M.pack(look(plans[mine.i], ok and result or error(result, 0)))
    end)
    o.branch.finish(ok and result or "")
  elseif not ok then
    error(result, 0)
  end
  return found
end

return M
