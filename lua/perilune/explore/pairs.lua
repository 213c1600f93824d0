-- Pairs of disturbances: which are tried, and which are left out since another pair leads to the same.
-- Adds its methods to a search's class.

local judges = require("perilune.explore.judge")
local options = require("perilune.explore.options")
local plans = require("perilune.explore.plan")
local situations = require("perilune.explore.situation")

local format = string.format

local PAIRS = 20000 -- limit of those that are kept until it is their turn; about 1 KiB each
local FEW, MANY = 64, 1024 -- pairs that branch off from one execution: at first, and later

return function(search)

-- Names the situations of single disturbances. A pair whose second part comes when nothing is left of the
-- first one is one of these.
function search:name_singles(all)
  local situation = situations.of(self.reference, self.reference)
  for _, d in ipairs(all) do
    if options.is_representative(d) then
      self.of_singles.is_possible[plans.print_one(d)] = true
      self.named[situation:of_single(d) or ""] = true
    end
  end
end

-- Disturbances that may follow d: those that are possible after it, in the execution that it led
-- to. {list, after, quiet}: list has each as {e, name, text, is_undisturbed}, as of_pair names the pair and
-- restarts_undisturbed says; after: what follows d; quiet: see quiet_after (perilune.explore.situation). A branch
-- computes it, so it must not depend on other results.
function search:partners(d, execution)
  local out = {}
  for _, list in ipairs({ execution.settles, execution.while_held }) do
    for _, settle in pairs(list) do
      judges.canonize(settle, self.taint, self.rules)
    end
  end
  local situation = situations.of(self.reference, execution)
  local all = options.of_execution(execution, { from = (execution.last_point or 0) + 1,
    no_stale = self.o.no_stale })
  for _, e in ipairs(all) do
    if not options.is_representative(e) then
      self:leave_out("another of its class stands for it in pairs")
    elseif plans.disjoint(d, e) then
      self:leave_out("their parts touch disjoint objects")
    elseif not plans.same(d, e) then
      local name, text = situation:of_pair(d, e, self.of_singles.is_possible)
      if name then
        out[#out + 1] = { e, name, text, situation:restarts_undisturbed(d, e) }
      end
    end
  end
  return { list = out, after = situation:after_of(d), quiet = situation:quiet_after(d) }
end

-- The name of a pair; nil: a single disturbance leads to the same. If what is held back has made no difference until
-- a restart, and has no event after it in that step, it can make one in the next step only.
function search:name_of_pair(d, p)
  local e, name, text, is_undisturbed = unpack(p, 1, 4)
  local quiet = is_undisturbed and self.of_singles.quiet[plans.print_one(e)]
  if quiet and d.kind == e.kind and d.what == "lag" then
    return nil -- the restart holds it back, too
  elseif quiet and d.kind ~= e.kind and quiet.kinds[d.kind] then
    if d.what == "lag" or e.step > d.step then
      return nil
    elseif quiet.rest then
      return format("%s after a restart, %s", quiet.rest, plans.print_one(d))
    end
  end
  return text and situations.joined(name, text, self.of_singles.after) or name
end

-- The second parts of pairs with d to be tried: those with new names, as far as there is room.
function search:keep_pairs(d, partners)
  local out, room = {}, PAIRS - self.pairs.total
  self.of_singles.after[plans.print_one(d)] = partners.after
  self.of_singles.quiet[plans.print_one(d)] = partners.quiet
  for _, p in ipairs(partners.list) do
    local e, name = p[1], self:name_of_pair(d, p)
    if not name or self.named[name] then
      self:leave_out("another pair leads to the same")
    elseif #out >= room then
      self:leave_out("there are more pairs than are kept")
    else
      self.named[name] = true
      out[#out + 1] = e
    end
  end
  self.pairs.total = self.pairs.total + #out
  return out
end

-- A process that ends after its effect, and starts with a cache that has not seen it: most bugs that need two
-- disturbances need these.
local function is_classic(d, e)
  return d.what == "crash" and e.what == "stale" and d.step == e.step
end

-- Pairs with the same first part one after the other, so that it runs once for many of them.
local function by_first_part(list)
  local groups, of_first, out = {}, {}, {}
  for _, pair in ipairs(list) do
    local name = plans.print_one(pair[1])
    if not of_first[name] then
      of_first[name] = {}
      groups[#groups + 1] = of_first[name]
    end
    table.insert(of_first[name], pair)
  end
  for _, group in ipairs(groups) do
    for _, pair in ipairs(group) do
      out[#out + 1] = pair
    end
  end
  return out
end

function search:all_pairs(pairs_of)
  local both, others = {}, {}
  for _, of in ipairs(pairs_of) do
    for _, e in ipairs(of.partners) do
      local list = is_classic(of.d, e) and both or others
      list[#list + 1] = plans.begins_before(e, of.d) and { e, of.d } or { of.d, e }
    end
  end
  for _, pair in ipairs(by_first_part(others)) do
    both[#both + 1] = pair
  end
  self:each(both, { at_first = FEW, at_most = MANY, in_order = true }, function(plan, outcome, execution)
    self.pairs.done = self.pairs.done + 1
    self:take(plan, execution, outcome.findings)
  end)
end
end
