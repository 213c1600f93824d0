-- A headless Chromium (spec/support/browser.py), controlled by specs.

local cjson = require("cjson")
local e2e = require("spec.support.e2e")

local M = {}

local Browser = {}
Browser.__index = Browser

-- Whether this machine has a chromium.
function M.is_there()
  return os.execute("command -v chromium >/dev/null 2>&1 || command -v chromium-browser >/dev/null 2>&1") == 0
end

function M.start()
  local base = e2e.folder() .. "/" .. e2e.unique("browser")
  local child = e2e.process.start({ "python3", "spec/support/browser.py" },
    { stdout = base, stderr = base .. ".err" })
  local port
  e2e.eventually("the browser is there", function()
    port = e2e.read_file(base):match("^(%d+)\n")
    if not child:is_running() then
      error("the browser ended: " .. e2e.read_file(base .. ".err"))
    end
    return port
  end)
  return setmetatable({ child = child, control = "http://127.0.0.1:" .. port .. "/",
    order = base .. ".order" }, Browser)
end

-- The answer of browser.py to a command.
function Browser:act(order)
  e2e.write_file(self.order, cjson.encode(order))
  local pipe = assert(io.popen("curl -sS --max-time 90 --data-binary @" .. self.order .. " " .. self.control
    .. " 2>&1"))
  local text = pipe:read("*a")
  pipe:close()
  local ok, answer = pcall(cjson.decode, text)
  assert(ok and not answer.error, "browser: " .. text)
  return answer.value
end

function Browser:open(url)
  self:act({ ["do"] = "open", url = url })
end

function Browser:js(text)
  return self:act({ ["do"] = "js", text = text })
end

function Browser:press(...)
  for _, key in ipairs({ ... }) do
    self:act({ ["do"] = "key", key = key })
  end
end

-- Waits until the expression is true, on this page or on one that takes its place meanwhile.
function Browser:until_true(what, text)
  e2e.eventually(what, function()
    return self:act({ ["do"] = "ask", text = text }) == true
  end)
end

-- Waits until the element's text contains this.
function Browser:until_text(selector, text)
  self:until_true(selector .. ' shows "' .. text .. '"',
    ("(document.querySelector(%s)?.innerText ?? '').includes(%s)"):format(cjson.encode(selector), cjson.encode(text)))
end

function Browser:stop()
  self.child:signal("TERM")
  self.child:wait(e2e.patience)
end

return M
