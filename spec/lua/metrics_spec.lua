-- perilune.metrics: declaring, labels, values, mistakes.
local spec = require("spec.support.host")
local perilune = require("perilune")
local prometheus = require("spec.support.prometheus")

local metrics = perilune.metrics

local function page()
  return prometheus.parse(spec.host.metrics_page())
end

describe("perilune.metrics", function()
  it("counts by labels, given by name or in order", function()
    local jobs = metrics.counter("jobs_total", "Jobs done.", { "queue", "ok" })
    jobs:inc({ queue = "a", ok = true })
    jobs:inc({ "a", true }, 2)
    jobs:inc({ queue = 7, ok = "no" }, 0.5)
    assert.equal(3, page():value("jobs_total", { queue = "a", ok = "true" }))
    assert.equal(0.5, page():value("jobs_total", { queue = "7", ok = "no" }))
    assert.equal("counter", page().families.jobs_total.type)
    assert.equal("Jobs done.", page().families.jobs_total.help)
  end)

  it("shows a metric without labels from the start", function()
    local total = metrics.counter("plain_total", "Plain.")
    assert.equal(0, page():value("plain_total"))
    total:inc()
    total:inc(nil, 2)
    total:inc({})
    assert.equal(4, page():value("plain_total"))
  end)

  it("sets gauges and fills histograms", function()
    local size = metrics.gauge("size_bytes", "Size.", { "of" })
    size:set(5, { of = "x" })
    size:set(-2.5, { of = "x" })
    assert.equal(-2.5, page():value("size_bytes", { of = "x" }))
    local took = metrics.histogram("took_seconds", "Took.", { "of" })
    took:observe(0.2, { of = "x" })
    took:observe(99, { "x" })
    assert.equal(1, page():value("took_seconds_bucket", { of = "x", le = "0.25" }))
    assert.equal(0, page():value("took_seconds_bucket", { of = "x", le = "0.1" }))
    assert.equal(2, page():value("took_seconds_count", { of = "x" }))
    assert.equal(99.2, page():value("took_seconds_sum", { of = "x" }))
  end)

  it("is one metric however often it is declared", function()
    metrics.counter("same_total", "Same.", { "a" }):inc({ a = 1 })
    metrics.counter("same_total", "Same.", { "a" }):inc({ a = 1 })
    assert.equal(2, page():value("same_total", { a = "1" }))
  end)

  it("removes a series, which may come back", function()
    local size = metrics.gauge("gone_bytes", "Size.", { "of" })
    size:set(5, { of = "x" })
    size:set(6, { of = "y" })
    assert.is_true(size:remove({ of = "x" }))
    assert.is_false(size:remove({ "x" }))
    assert.is_nil(page():value("gone_bytes", { of = "x" }))
    assert.equal(6, page():value("gone_bytes", { of = "y" }))
    local took = metrics.histogram("gone_seconds", "Took.", { "of" })
    took:observe(1, { of = "x" })
    assert.is_true(took:remove({ of = "x" }))
    assert.is_nil(page():value("gone_seconds_count", { of = "x" }))
    took:observe(1, { of = "x" })
    assert.equal(1, page():value("gone_seconds_count", { of = "x" }))
    local plain = metrics.counter("gone_total", "Plain.")
    plain:inc(nil, 5)
    assert.is_true(plain:remove())
    assert.is_nil(page():value("gone_total"))
  end)

  it("makes room by removing", function()
    local many = metrics.counter("room_total", "Many.", { "id" })
    for i = 1, 1000 do
      many:inc({ id = i })
    end
    many:remove({ id = 1 })
    many:inc({ id = "new" })
    assert.equal(1, page():value("room_total", { id = "new" }))
    assert.is_nil(page():value("room_total", { id = "other" }))
  end)

  it("keeps the page readable whatever a label holds", function()
    local odd = metrics.counter("odd_total", "Odd \\ and\nbroken.", { "text" })
    odd:inc({ text = 'a"b\\c\nd' })
    odd:inc({ text = "\255\254" })
    odd:inc({ text = ("ä"):rep(500) })
    local seen = page()
    assert.equal(1, seen:value("odd_total", { text = 'a"b\\c\nd' }))
    assert.equal(1, seen:value("odd_total", { text = "\239\191\189\239\191\189" }))
    assert.equal(1, seen:value("odd_total", { text = ("ä"):rep(128) }))
  end)

  it("has a limit on series: what is more is counted together", function()
    local many = metrics.counter("many_total", "Many.", { "id" })
    for i = 1, 1500 do
      many:inc({ id = i })
    end
    local seen = page()
    assert.equal(1001, #seen.families.many_total.samples)
    assert.equal(500, seen:value("many_total", { id = "other" }))
    assert.equal(1500, seen:sum("many_total"))
  end)

  local function labelled()
    return metrics.counter("wrong_total", "Wrong.", { "queue", "result" })
  end

  local mistakes = {
    { "another type", function() labelled() metrics.gauge("wrong_total", "Wrong.", { "queue", "result" }) end,
      "wrong_total is a counter with the labels {queue, result} already" },
    { "other labels", function() labelled() metrics.counter("wrong_total", "Wrong.", { "queue" }) end,
      "wrong_total is a counter with the labels {queue, result} already" },
    { "a core name", function() metrics.counter("perilune_x_total", "X.") end, '"perilune_"' },
    { "another core name", function() metrics.gauge("workqueue_x", "X.") end, '"workqueue_"' },
    { "a name that is none", function() metrics.counter("my-jobs", "X.") end, '"my-jobs" is not a metric name' },
    { "a name that goes on behind a NUL byte", function() metrics.counter("ok_total\0more", "X.") end,
      "the name must not contain a NUL byte" },
    { "a help that goes on behind a NUL byte", function() metrics.counter("ok_total", "X\0.") end,
      "the help must not contain a NUL byte" },
    { "a label that goes on behind a NUL byte", function() metrics.counter("ok_total", "X.", { "a\0b" }) end,
      "the labels[1] must not contain a NUL byte" },
    { "a label that is none", function() metrics.counter("ok_total", "X.", { "my-label" }) end,
      '"my-label" is not a label name' },
    { "le", function() metrics.histogram("ok_seconds", "X.", { "le" }) end, '"le" already' },
    { "too many labels", function()
      metrics.counter("ok_total", "X.", { "a", "b", "c", "d", "e", "f", "g", "h", "i" })
    end, "at most 8 labels" },
    { "labels that are no array", function() metrics.counter("ok_total", "X.", { a = "b" }) end, "must be an array" },
    { "no help", function() metrics.counter("ok_total") end, "the help must be a string, not nil" },
    { "more arguments", function() metrics.counter("ok_total", "X.", {}, {}, {}) end, "more arguments" },
    { "an unknown option", function() metrics.counter("ok_total", "X.", { "a" }, { per_objct = true }) end,
      'did you mean "per_object"?' },
    { "an object without a label", function() metrics.counter("ok_total", "X.", {}, { per_object = true }) end,
      "per_object needs a label" },
    { "a removal with a dot", function() labelled().remove({ "a", "b" }) end, "with a colon: counter:remove" },
    { "a removal of half a series", function() labelled():remove({ queue = "a" }) end,
      'needs a value for its label "result"' },
    { "an unknown type", function() return metrics.countr end, 'did you mean "counter"?' },
    { "an unknown method", function() return labelled().icn end, 'did you mean "inc"?' },
    { "a dot", function() labelled().inc({ queue = "a", result = "b" }) end, "with a colon: counter:inc" },
    { "an unknown label", function() labelled():inc({ queue = "a", resul = "b" }) end,
      'the counter wrong_total has no label "resul"; did you mean "result"?' },
    { "a missing label", function() labelled():inc({ queue = "a" }) end,
      'the counter wrong_total needs a value for its label "result"' },
    { "no labels at all", function() labelled():inc() end, 'needs its labels, as in {queue = "...", ...}' },
    { "too few values", function() labelled():inc({ "a" }) end, "has 2 labels (queue, result), not 1" },
    { "a label value that is a table", function() labelled():inc({ queue = {}, result = "b" }) end,
      "the label queue must be a string, a number or a boolean, not a table" },
    { "a falling counter", function() labelled():inc({ "a", "b" }, -1) end, "at least 0, not the number -1" },
    { "no number", function() labelled():inc({ "a", "b" }, 0 / 0) end, "must be a number" },
    { "the number first", function() labelled():inc(5) end, "the labels come first" },
    { "the labels first", function() metrics.gauge("ok_gauge", "X.", { "a" }):set({ a = 1 }, 5) end,
      "the value comes first: gauge:set(value, labels)" },
    { "labels where there are none", function() metrics.counter("none_total", "X."):inc({ a = 1 }) end,
      "the counter none_total has no labels" },
  }
  for _, case in ipairs(mistakes) do
    it("refuses " .. case[1] .. " at the script's line", function()
      local message = spec.message_of(case[2])
      assert(message:find(case[3], 1, true), message)
      spec.assert_positioned("metrics_spec", case[2])
    end)
  end

  it("refuses more metrics than anybody needs", function()
    local message = spec.message_of(function()
      for i = 1, 300 do
        metrics.gauge("limit_" .. i, "X.")
      end
    end)
    assert(message:find("metrics of scripts already", 1, true), message)
  end)
end)
