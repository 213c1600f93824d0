-- The fixture of specifications of reloads: a namespace, a folder of scripts, and a host that runs
-- them. M.new() makes one for a `describe`:
--
--     local bed = beds.new()
--     setup(bed.set_up)
--     before_each(bed.begin)
--     after_each(e2e.clean_up)
--     teardown(e2e.finish)
--
-- Fields: server, namespace, folder, host.

local e2e = require("spec.support.e2e")

local M = {}

function M.new()
  local bed = {}

  function bed.set_up()
    bed.server = e2e.server()
  end

  function bed.begin()
    bed.namespace = bed.server:new_namespace()
    bed.folder = e2e.folder() .. "/" .. e2e.unique("scripts")
    assert(os.execute("mkdir -p " .. bed.folder) == 0)
  end

  function bed.core(plural, name)
    return e2e.core_path(bed.namespace, plural, name)
  end

  -- A ConfigMap with the label reload=yes.
  function bed.map(name, data)
    return { apiVersion = "v1", kind = "ConfigMap",
      metadata = { name = name, labels = { reload = "yes" } }, data = data }
  end

  -- Creates it.
  function bed.config_map(name, data)
    return bed.server:create(bed.core("configmaps"), bed.map(name, data))
  end

  -- Writes the text to a file of the folder and returns its path. The file is replaced at once: a
  -- file that is written in place is empty for a while, which would cause another reload.
  function bed.write(path, text)
    path = bed.folder .. "/" .. path
    assert(os.rename(e2e.write_file(path .. ".new", text), path))
    return path
  end

  -- Starts a host and returns it when its first controller has started.
  function bed.start(paths, flags, options)
    local all = { "--namespace", bed.namespace }
    for _, flag in ipairs(flags or {}) do
      all[#all + 1] = flag
    end
    bed.host = e2e.start_host(bed.server, paths, all, options)
    bed.host:logged("^controller started$")
    return bed.host
  end

  return bed
end

return M
