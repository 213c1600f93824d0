-- The guide of examples/README.md: its commands work, in their order, in an empty folder.

local e2e = require("spec.support.e2e")
local process = require("spec.support.process")

describe("the guide", function()
  teardown(e2e.finish)

  it("works as it is written", function()
    local server = e2e.server()
    local folder = e2e.folder() .. "/guide"
    os.execute("mkdir " .. folder)
    local here = io.popen("pwd"):read("*l")
    local binary = e2e.binary:sub(1, 1) == "/" and e2e.binary or here .. "/" .. e2e.binary
    local ran, started = {}, process.now()
    for line in e2e.read_file("examples/README.md"):gmatch("\n    perilune ([^\n]+)") do
      local words = { binary }
      for word in line:gmatch("%S+") do
        words[#words + 1] = word
      end
      local out = folder .. "/out"
      if words[2] ~= "why" then -- needs a host that keeps running
        if words[2] == "uninstall" then
          words[#words + 1] = "--kubeconfig=" .. here .. "/" .. server.kubeconfig
          if server.kubeconfig:sub(1, 1) == "/" then
            words[#words] = "--kubeconfig=" .. server.kubeconfig
          end
          server:apply_crd(e2e.read_file(folder .. "/website/manifests/crd.yaml"))
        elseif words[2] == "dev" then
          words[#words + 1] = "--metrics-bind-address=0"
          words[#words + 1] = "--health-probe-bind-address=0"
        end
        local child = process.start(words, { cwd = folder, stdout = out, stderr = out .. ".err" })
        assert.same({ 0 }, { child:wait(e2e.patience) }, line .. ": " .. e2e.read_file(out .. ".err"))
        ran[#ran + 1] = words[2]
        if words[2] == "check" then
          print(("`new` to a checked project: %.2f s"):format(process.now() - started))
        elseif words[2] == "test" then
          print(("`new` to a passing test: %.2f s"):format(process.now() - started))
        elseif words[2] == "dev" then
          print(("`new` to a host that has run: %.2f s"):format(process.now() - started))
        end
      end
    end
    assert.equal("new check test dev rbac rbac manifests uninstall", table.concat(ran, " "))
  end)
end)
