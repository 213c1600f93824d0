-- perilune.rolled_out, by the rules of `kubectl rollout status`.
local spec = require("spec.support.host")
local perilune = require("perilune")

local function workload(kind, object_spec, status, generation)
  return { apiVersion = "apps/v1", kind = kind, spec = object_spec, status = status,
    metadata = { name = "web", namespace = "default", generation = generation or 2 } }
end

local function check_all(kind, cases)
  for _, case in ipairs(cases) do
    it(case[1], function()
      local done, message = perilune.rolled_out(workload(kind, case.spec, case.status, case.generation))
      assert.equal(case.done or false, done)
      assert.truthy(message:find(case.message, 1, true), message)
    end)
  end
end

describe("perilune.rolled_out of a Deployment", function()
  check_all("Deployment", {
    { "waits until the spec is observed", spec = { replicas = 3 }, message = "not been observed",
      status = { observedGeneration = 1, updatedReplicas = 3, replicas = 3, availableReplicas = 3 } },
    { "waits without any status", spec = { replicas = 3 }, message = "not been observed" },
    { "waits for new replicas", spec = { replicas = 3 }, message = "1 of 3 new replicas have been updated",
      status = { observedGeneration = 2, updatedReplicas = 1, replicas = 3 } },
    { "wants one replica when none are named", spec = {}, message = "0 of 1 new replicas",
      status = { observedGeneration = 2 } },
    { "waits for old replicas to go", spec = { replicas = 3 },
      message = "1 old replicas are pending termination",
      status = { observedGeneration = 2, updatedReplicas = 3, replicas = 4, availableReplicas = 3 } },
    { "waits for availability", spec = { replicas = 3 }, message = "2 of 3 updated replicas are available",
      status = { observedGeneration = 2, updatedReplicas = 3, replicas = 3, availableReplicas = 2 } },
    { "is done", spec = { replicas = 3 }, done = true, message = "successfully rolled out",
      status = { observedGeneration = 2, updatedReplicas = 3, replicas = 3, availableReplicas = 3 } },
    { "is done with zero replicas", spec = { replicas = 0 }, done = true, message = "successfully",
      status = { observedGeneration = 3, conditions = perilune.null } },
    { "is not done over its deadline", spec = { replicas = 1 }, message = "exceeded its progress deadline",
      status = { observedGeneration = 2, updatedReplicas = 1, replicas = 1, availableReplicas = 1,
        conditions = { { type = "Progressing", status = "False", reason = "ProgressDeadlineExceeded" } } } },
  })
end)

describe("perilune.rolled_out of a StatefulSet", function()
  local rolling = { type = "RollingUpdate", rollingUpdate = { partition = 0 } }
  check_all("StatefulSet", {
    { "waits until the spec is observed", spec = { replicas = 2, updateStrategy = rolling },
      status = { observedGeneration = 1 }, message = "not been observed" },
    { "waits for the first status", generation = 0, spec = { replicas = 0, updateStrategy = rolling },
      status = {}, message = "not been observed" },
    { "waits for pods", spec = { replicas = 2, updateStrategy = rolling }, message = "1 of 2 pods are ready",
      status = { observedGeneration = 2, readyReplicas = 1, updatedReplicas = 2 } },
    { "waits for new pods", spec = { replicas = 2, updateStrategy = rolling },
      message = "1 of 2 new pods have been updated",
      status = { observedGeneration = 2, readyReplicas = 2, updatedReplicas = 1 } },
    { "is done when all are new", spec = { replicas = 2, updateStrategy = rolling }, done = true,
      message = "2 new pods", status = { observedGeneration = 2, readyReplicas = 2, updatedReplicas = 2,
        updateRevision = "b", currentRevision = "a" } },
    { "waits for what is above the partition", message = "0 of 1 new pods have been updated",
      spec = { replicas = 3, updateStrategy = { type = "RollingUpdate", rollingUpdate = { partition = 2 } } },
      status = { observedGeneration = 2, readyReplicas = 3, updatedReplicas = 0 } },
    { "is done when what is above the partition is new", done = true, message = "1 new pods",
      spec = { replicas = 3, updateStrategy = { type = "RollingUpdate", rollingUpdate = { partition = 2 } } },
      status = { observedGeneration = 2, readyReplicas = 3, updatedReplicas = 1 } },
    { "compares revisions without a partition", spec = { replicas = 2 }, message = "2 pods at revision b",
      status = { observedGeneration = 2, readyReplicas = 2, updatedReplicas = 2, updateRevision = "b",
        currentRevision = "a" } },
    { "is done when revisions are the same", spec = { replicas = 2 }, done = true, message = "rolled out",
      status = { observedGeneration = 2, readyReplicas = 2, updatedReplicas = 2, updateRevision = "b",
        currentRevision = "b" } },
    { "has nothing to wait for with OnDelete", spec = { replicas = 2, updateStrategy = { type = "OnDelete" } },
      status = {}, done = true, message = "OnDelete" },
  })
end)

describe("perilune.rolled_out of a DaemonSet", function()
  check_all("DaemonSet", {
    { "waits until the spec is observed", spec = {}, status = { observedGeneration = 1 },
      message = "not been observed" },
    { "waits for new pods", spec = {}, message = "1 of 2 new pods have been updated",
      status = { observedGeneration = 2, desiredNumberScheduled = 2, updatedNumberScheduled = 1 } },
    { "waits for availability", spec = {}, message = "1 of 2 updated pods are available",
      status = { observedGeneration = 2, desiredNumberScheduled = 2, updatedNumberScheduled = 2,
        numberAvailable = 1 } },
    { "is done", spec = {}, done = true, message = "successfully rolled out",
      status = { observedGeneration = 2, desiredNumberScheduled = 2, updatedNumberScheduled = 2,
        numberAvailable = 2 } },
    { "has nothing to wait for with OnDelete", spec = { updateStrategy = { type = "OnDelete" } }, status = {},
      done = true, message = "OnDelete" },
  })
end)

describe("perilune.rolled_out", function()
  it("names the kinds that it knows", function()
    assert.equal("rolled_out knows Deployment, StatefulSet and DaemonSet of apps/v1, not v1/Pod",
      spec.message_of(perilune.rolled_out, { apiVersion = "v1", kind = "Pod", metadata = {} }))
  end)

  it("refuses what is no object", function()
    assert.equal("rolled_out: the object must be a table with apiVersion and kind, not nil",
      spec.message_of(perilune.rolled_out, nil))
    assert.truthy(spec.message_of(perilune.rolled_out, { apiVersion = "apps/v1", kind = "Deployment" })
      :find("metadata must be a table", 1, true))
  end)
end)
