-- Ported operators: a CronJob controller with time zones, and a replicator with regular expressions
-- (examples/cronjob, examples/replicator).

local e2e = require("spec.support.e2e")

describe("the port", function()
  local server, namespace, host

  setup(function()
    server = e2e.server()
  end)
  before_each(function()
    namespace = server:new_namespace()
  end)
  after_each(e2e.clean_up)
  teardown(e2e.finish)

  -- With kube-apiserver there is kube-controller-manager, which runs CronJobs itself.
  local describe_embedded = e2e.is_kube and function() end or describe
  describe_embedded("of CronJobs", function()
    local function path(plural, name)
      return "/apis/batch/v1/namespaces/" .. namespace .. "/" .. plural .. (name and "/" .. name or "")
    end

    local function cron(name, spec)
      spec.jobTemplate = { spec = { template = { spec = { restartPolicy = "Never",
        containers = { { name = "c", image = "i" } } } } } }
      server:create(path("cronjobs"), { apiVersion = "batch/v1", kind = "CronJob",
        metadata = { name = name }, spec = spec })
    end

    -- Its last run was long ago, so at least one scheduled time has passed since.
    local function ran_last(name, at)
      server:patch(path("cronjobs", name) .. "/status", { status = { lastScheduleTime = at } })
    end

    local function jobs_of(name)
      local out = {}
      for _, job in ipairs(server:get(path("jobs")).items) do
        local owner = job.metadata.ownerReferences and job.metadata.ownerReferences[1]
        if owner and owner.name == name then
          out[#out + 1] = job
        end
      end
      return out
    end

    it("runs the last time that was missed, in its time zone, and says so", function()
      cron("berlin", { schedule = "30 2 * * *", timeZone = "Europe/Berlin" })
      ran_last("berlin", "2024-01-01T00:00:00Z")
      cron("asleep", { schedule = "* * * * *", suspend = true })
      ran_last("asleep", "2024-01-01T00:00:00Z")
      cron("wrong", { schedule = "0 0 * * *", timeZone = "Europe/Berlin" })
      host = e2e.start_host(server, "examples/cronjob", { "--namespace", namespace })
      local jobs = e2e.eventually("the Job of berlin", function()
        local found = jobs_of("berlin")
        return #found == 1 and found
      end)
      local at = jobs[1].metadata.annotations["batch.kubernetes.io/cronjob-scheduled-timestamp"]
      assert.truthy(at:find("T00:30:00Z", 1, true) or at:find("T01:30:00Z", 1, true), at)
      assert.is_true(jobs[1].metadata.ownerReferences[1].controller)
      e2e.eventually("the status has it", function()
        local status = server:get(path("cronjobs", "berlin")).status or {}
        return status.lastScheduleTime == at and status.active and status.active[1]
          and status.active[1].name == jobs[1].metadata.name
      end)
      assert.equal(0, #jobs_of("asleep"))
      assert.equal(0, #jobs_of("wrong")) -- it is younger than its last time
      host:stop()
    end)

    it("keeps to the policies", function()
      for _, policy in ipairs({ "Forbid", "Replace" }) do
        local name = policy:lower()
        cron(name, { schedule = "0 * * * *", concurrencyPolicy = policy })
        ran_last(name, "2024-01-01T00:00:00Z")
      end
      host = e2e.start_host(server, "examples/cronjob", { "--namespace", namespace })
      local first = {}
      for _, name in ipairs({ "forbid", "replace" }) do
        first[name] = e2e.eventually("the first Job of " .. name, function()
          return jobs_of(name)[1]
        end).metadata.name
      end
      local function again(name)
        e2e.eventually("the first is in the status of " .. name, function()
          local status = server:get(path("cronjobs", name)).status or {}
          return status.active and #status.active == 1
        end)
        ran_last(name, "2024-01-01T00:00:00Z")
      end
      again("forbid")
      again("replace")
      e2e.eventually("both have been looked at", function()
        return server:get(path("cronjobs", "replace")).status.lastScheduleTime ~= "2024-01-01T00:00:00Z"
      end)
      assert.equal(first.forbid, jobs_of("forbid")[1].metadata.name)
      assert.equal(1, #jobs_of("forbid"))
      host:stop()
    end)
  end)

  describe("of a replicator", function()
    local targets

    local function path(ns, name)
      return e2e.core_path(ns, "secrets", name)
    end

    local function make_namespace(name)
      server:create("/api/v1/namespaces", { apiVersion = "v1", kind = "Namespace",
        metadata = { name = name } })
    end

    before_each(function()
      targets = { namespace .. "-team-a", namespace .. "-team-b", namespace .. "-other" }
      make_namespace(targets[1])
      make_namespace(targets[3])
    end)

    local function data_of(ns)
      local copy = server:get(path(ns, "pull"))
      return copy and copy.data and copy.data.key
    end

    it("copies where the expressions say, follows its sources, and cleans up", function()
      server:create(path(namespace), { apiVersion = "v1", kind = "Secret", metadata = { name = "pull",
        annotations = { ["replicate.example.com/to"] = namespace .. "-team-[a-z]+, prod-[0-9]" } },
        data = { key = "b25l" } })
      host = e2e.start_host(server, "examples/replicator")
      e2e.eventually("the copy", function()
        return data_of(targets[1]) == "b25l"
      end)
      make_namespace(targets[2]) -- it comes later
      e2e.eventually("the copy in the new namespace", function()
        return data_of(targets[2]) == "b25l"
      end)
      assert.is_nil(data_of(targets[3]))
      server:patch(path(namespace, "pull"), { data = { key = "dHdv" } })
      e2e.eventually("copies follow", function()
        return data_of(targets[1]) == "dHdv" and data_of(targets[2]) == "dHdv"
      end)
      server:patch(path(targets[1], "pull"), { data = { key = "bm8=" } })
      e2e.eventually("a copy that was changed is mended", function()
        return data_of(targets[1]) == "dHdv"
      end)
      server:patch(path(namespace, "pull"), { metadata = { annotations = {
        ["replicate.example.com/to"] = namespace .. "-team-a" } } })
      e2e.eventually("what is not meant any more goes", function()
        return server:get(path(targets[2], "pull")) == nil
      end)
      server:patch(path(namespace, "pull"), { metadata = { annotations = {
        ["replicate.example.com/to"] = "team-(" } } })
      host:logged("^the annotation cannot be read$")
      assert.equal("dHdv", data_of(targets[1])) -- a mistake deletes nothing
      server:patch(path(namespace, "pull"), { metadata = { annotations = {
        ["replicate.example.com/to"] = namespace .. "-team-a" } } })
      server:delete(path(namespace, "pull"))
      e2e.eventually("copies go with their source", function()
        return server:get(path(targets[1], "pull")) == nil and server:get(path(namespace, "pull")) == nil
      end)
      host:stop()
    end)
  end)
end)
