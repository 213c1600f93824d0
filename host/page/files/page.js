// The page of a Perilune host. Once a second it requests the data of the visible section, and shows
// it. Every text is inserted as text, never as markup, because names and messages come from a
// cluster.
"use strict";

const EVERY_MS = 1000;
const LINES_MAX = 2000;
const cookie = "perilune-" + location.port;
const sections = ["controllers", "objects", "reloads", "shadow", "log"];
const levels = ["debug", "info", "warn", "error"];

const $ = (id) => document.getElementById(id);

function token() {
  const pair = document.cookie.split("; ").find((one) => one.startsWith(cookie + "="));
  return pair === undefined ? "" : pair.slice(cookie.length + 1);
}

// An element with a class and children, which are elements or texts.
function make(tag, name, ...children) {
  const element = document.createElement(tag);
  if (name) element.className = name;
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

// ---- requests ----

async function ask(path, query, body) {
  const url = new URL(path, location.origin);
  for (const [name, value] of Object.entries(query || {})) url.searchParams.set(name, value);
  const options = body === undefined ? {} : {
    method: "POST",
    headers: { Authorization: "Bearer " + token(), "Content-Type": "application/json" },
    body: JSON.stringify(body),
  };
  const answer = await fetch(url, options);
  if (answer.status === 401) {
    location.replace("/"); // another process has this port now: it asks for its own token
    throw new Error("the token is another one");
  }
  const text = await answer.text();
  if (!(answer.headers.get("Content-Type") || "").includes("json")) throw new Error(text.trim());
  const result = JSON.parse(text);
  if (!result.ok) throw new Error(result.error);
  return result.result;
}

function say(text, bad) {
  $("notice").textContent = text;
  $("notice").className = bad ? "bad" : "";
  $("notice").hidden = text === "";
}

async function act(path, body, done) {
  try {
    say(done(await ask(path, {}, body)), false);
    refresh();
  } catch (error) {
    say(error.message, true);
  }
}

// ---- where we are: #section/... ----

const place = { section: "controllers", controller: "", kind: "", key: "" };

function readPlace() {
  const parts = location.hash.slice(1).split("/").map(decodeURIComponent);
  place.section = sections.includes(parts[0]) ? parts[0] : "controllers";
  if (place.section === "objects") {
    place.controller = parts[1] || place.controller;
    place.kind = parts[2] || "";
    place.key = parts.slice(3).join("/");
  }
  showSection();
}

function go(section, ...rest) {
  location.hash = [section, ...rest].map(encodeURIComponent).join("/");
}

function openKey(kind, key) {
  go("objects", place.controller, kind, ...key.split("/"));
}

function showSection() {
  for (const section of sections) {
    const on = section === place.section;
    $(section).hidden = !on;
    $("tab-" + section).setAttribute("aria-selected", String(on));
    $("tab-" + section).tabIndex = on ? 0 : -1;
  }
  $("key").hidden = place.key === "";
  refresh();
}

// ---- controllers ----

const before = new Map(); // name -> {runs, at}: for the rate

function rate(name, runs) {
  const now = performance.now();
  const last = before.get(name);
  if (last !== undefined && now - last.at < EVERY_MS / 2) return last.rate;
  const value = last === undefined || runs < last.runs ? null : (runs - last.runs) / ((now - last.at) / 1000);
  before.set(name, { runs, at: now, rate: value });
  return value;
}

function number(value, bad) {
  return make("td", "number" + (bad && value > 0 ? " bad" : ""), String(value));
}

function sourcesOf(controller) {
  const list = (controller.sources || []).map((source) => {
    const text = source.role + " " + source.kind + (source.cluster ? " in " + source.cluster : "");
    return make("div", source.synced ? "" : "warn", source.synced ? text : text + ": not synced yet");
  });
  return make("td", "", ...list);
}

function controllerRow(controller) {
  const link = make("a", "", controller.name);
  link.href = "#objects/" + encodeURIComponent(controller.name);
  const runs = rate(controller.name, controller.runs);
  const error = controller.last_error;
  const state = make("td", controller.state === "running" ? "good" : "warn", controller.state);
  for (const loop of controller.loops || []) {
    state.append(make("div", "bad", loop.what + ": " + loop.key + " (" + loop.fields + ")"));
  }
  return make("tr", "", make("td", "", controller.task ? controller.name + " (task)" : link), state,
    number(controller.in_flight), number(controller.ready), number(controller.delayed),
    number(controller.paused), number(controller.failing, true), number(controller.runs),
    make("td", "number", runs === null ? "" : runs.toFixed(1)), number(controller.errors, true),
    sourcesOf(controller),
    make("td", "", error ? error.key + ": " + error.message.split("\n")[0] + ", " + ago(error.seconds_ago) : ""));
}

function showStatus(status) {
  const scripts = status.scripts || {};
  const guard = scripts.guarded ? ", on trial" : "";
  $("host").textContent = "Perilune " + status.version + ", process " + status.pid + ", " + status.server +
    ", generation " + scripts.generation + guard;
  $("controller-rows").replaceChildren(...status.controllers.map(controllerRow));
  $("no-controllers").hidden = status.controllers.length > 0;
  $("clusters").replaceChildren(...(status.clusters || []).map((cluster) =>
    make("p", cluster.trouble ? "bad" : "dim", "cluster " + cluster.name + ": " + (cluster.trouble || cluster.server || ""))));
  $("scripts").textContent = "Generation " + scripts.generation + " runs" +
    (scripts.guarded ? "; its first runs are watched, and the scripts before come back when they fail" : "") +
    (scripts.loading ? "; the scripts are being loaded" : "") + "." +
    (scripts.refused ? " The last change was refused: " + scripts.refused : "");
  fillControllers(status.controllers.filter((one) => !one.task).map((one) => one.name));
}

function ago(seconds) {
  if (seconds < 10) return seconds.toFixed(1) + " s ago";
  if (seconds < 120) return Math.round(seconds) + " s ago";
  if (seconds < 7200) return Math.round(seconds / 60) + " min ago";
  return Math.round(seconds / 3600) + " h ago";
}

// ---- objects ----

const tree = { after: [], last: "", folded: new Set(), shown: "" };

function fillControllers(names) {
  const select = $("objects-controller");
  const known = Array.from(select.options, (option) => option.value);
  if (place.controller === "" && names.length > 0) place.controller = names[0];
  if (known.join("\n") !== names.join("\n")) {
    select.replaceChildren(...names.map((name) => {
      const option = make("option", "", name);
      option.value = name;
      return option;
    }));
  }
  select.value = place.controller;
}

function stateOf(object) {
  if (object.deleting) return make("span", "warn", "is being deleted");
  if (object.failures > 0) return make("span", "bad", object.failures + " failures");
  if (object.waits_for) return make("span", "warn", "waits: " + object.waits_for);
  if (object.state && object.state !== "at rest") return make("span", "dim", object.state);
  if (object.condition) {
    const good = object.condition.status === "True";
    return make("span", good ? "good" : "warn", object.condition.type + " " + object.condition.status);
  }
  return null;
}

function treeItem(object, level) {
  const children = object.children || [];
  const id = object.kind + " " + object.key;
  const open = children.length > 0 && !tree.folded.has(id);
  const row = make("div", "row", make("span", "twist", children.length === 0 ? "" : open ? "▾" : "▸"),
    make("span", "kind", object.kind), make("span", "", object.key), stateOf(object));
  const item = make("li", "", row);
  item.setAttribute("role", "treeitem");
  item.setAttribute("aria-level", String(level));
  item.setAttribute("aria-label", object.kind + " " + object.key);
  item.setAttribute("aria-selected", String(object.kind === place.kind && object.key === place.key));
  if (children.length > 0) item.setAttribute("aria-expanded", String(open));
  item.tabIndex = -1;
  item.object = object;
  if (open) {
    const group = make("ul", "", ...children.map((child) => treeItem(child, level + 1)));
    group.setAttribute("role", "group");
    if (object.left_out) group.append(make("li", "dim", "and " + object.left_out + " more"));
    item.append(group);
  }
  return item;
}

function drawTree() {
  const focused = document.activeElement && document.activeElement.object;
  $("tree").replaceChildren(...tree.objects.map((object) => treeItem(object, 1)));
  const items = treeItems();
  const same = (object) => (item) => item.object.kind === object.kind && item.object.key === object.key;
  const current = items.find(same(focused || place)) || items[0];
  if (current) current.tabIndex = 0;
  if (focused && current) current.focus();
}

function treeItems() {
  return Array.from($("tree").querySelectorAll('[role="treeitem"]'));
}

function showObjects(page) {
  const last = page.objects.length > 0 ? page.objects[page.objects.length - 1].key : "";
  tree.last = last;
  tree.objects = page.objects;
  $("objects-count").textContent = page.matching === page.total ? page.total + " objects"
    : page.matching + " of " + page.total + " objects";
  $("objects-first").disabled = tree.after.length === 0;
  $("objects-next").disabled = page.objects.length < 100;
  const shown = JSON.stringify([page, place.kind, place.key, Array.from(tree.folded)]);
  if (shown === tree.shown) return;
  tree.shown = shown;
  drawTree();
}

async function refreshObjects() {
  if (place.controller === "") return;
  showObjects(await ask("/api/objects", {
    controller: place.controller, filter: $("objects-filter").value,
    after: tree.after[tree.after.length - 1] || "",
  }));
  if (place.key !== "") showKey(await ask("/api/why", { kind: place.kind, key: place.key }));
}

function fold(item, on) {
  const id = item.object.kind + " " + item.object.key;
  if (on) tree.folded.add(id);
  else tree.folded.delete(id);
  tree.shown = "";
  drawTree();
}

function moveInTree(event) {
  const items = treeItems();
  const item = event.target.closest('[role="treeitem"]');
  const at = items.indexOf(item);
  if (at < 0) return;
  const expanded = item.getAttribute("aria-expanded");
  const parent = item.parentElement.closest('[role="treeitem"]');
  const moves = {
    ArrowDown: () => items[at + 1], ArrowUp: () => items[at - 1],
    Home: () => items[0], End: () => items[items.length - 1],
    ArrowLeft: () => (expanded === "true" ? fold(item, true) : parent),
    ArrowRight: () => (expanded === "false" ? fold(item, false) : expanded === "true" ? items[at + 1] : undefined),
    Enter: () => openKey(item.object.kind, item.object.key),
    " ": () => openKey(item.object.kind, item.object.key),
  };
  if (moves[event.key] === undefined) return;
  event.preventDefault();
  const next = moves[event.key]();
  if (next) {
    item.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  }
}

// ---- a key ----

function timeline(section) {
  const list = make("ol", "timeline", ...section.history.slice().reverse().map((one) => {
    const bad = one.what === "ended" && one.detail.startsWith("error");
    const took = !one.seconds ? "" : one.what === "ended" ? " (took " + one.seconds + " s)" : " (" + one.seconds + " s)";
    return make("li", "", make("time", "", ago(one.seconds_ago)), make("span", "what" + (bad ? " bad" : ""), one.what), one.detail + took);
  }));
  return make("div", "", make("h3", "", section.controller + " " + section.key),
    section.waits_for ? make("p", "warn", "Waits " + section.waits_for) : null,
    section.last_error ? make("pre", "bad", section.last_error) : null,
    section.history.length === 0 ? make("p", "dim", "Nothing has happened to it lately.") : list);
}

function showKey(why) {
  $("key-name").textContent = place.kind + " " + place.key;
  $("timelines").replaceChildren(...why.keys.map(timeline));
  if (why.keys.length === 0) $("timelines").append(make("p", "dim", "It wakes no key."));
  const own = why.keys.filter((section) => section.through === "for");
  for (const id of ["requeue", "pause", "resume"]) $(id).disabled = own.length === 0;
  showKey.own = own;
}

// ---- reloads, shadow, log ----

const rings = {
  reloads: { from: 1, items: [] }, shadow: { from: 1, items: [] }, log: { from: 1, items: [] },
};

async function refreshRing(name) {
  const ring = rings[name];
  const answer = await ask("/api/" + name, { from: ring.from });
  if (answer.next < ring.from) { // another process
    ring.items = [];
    ring.from = 1;
    return true;
  }
  ring.from = answer.next;
  ring.items.push(...answer.items);
  ring.items.splice(0, Math.max(0, ring.items.length - LINES_MAX));
  return answer.items.length > 0;
}

function reloadItem(news) {
  const bad = news.what === "refused" || news.what === "rolled back";
  const words = {
    applied: "Generation " + news.generation + " runs",
    refused: "Refused: generation " + news.generation + " goes on",
    "guard over": "Generation " + news.generation + " has passed its trial",
    "rolled back": "Rolled back: generation " + news.generation + " runs again",
  };
  return make("li", "", make("span", "dim", new Date(news.at_ms).toLocaleTimeString() + " "),
    make("strong", bad ? "bad" : "good", words[news.what]),
    news.trigger ? " by " + news.trigger : null,
    news.text ? make("pre", "", news.text) : null);
}

function shadowItem(line) {
  if (line.type === "begun") {
    return make("li", "", make("strong", "", "A shadow of " + (line.controllers || []).join(", ") + " has begun"));
  }
  if (line.type === "summary") {
    return make("li", "", make("strong", line.different > 0 ? "warn" : "good", line.different + " of " + line.keys +
      " keys differ (" + line.runs + " runs in " + line.seconds.toFixed(1) + " s)"));
  }
  if (line.type === "error") return make("li", "", make("strong", "bad", line.message));
  return make("li", "", make("strong", "", line.controller + ", key " + line.key),
    make("pre", "", JSON.stringify(line.differences || line, null, 2)));
}

function fillLists(name) {
  if (name === "reloads") {
    $("reload-list").replaceChildren(...rings.reloads.items.slice().reverse().map(reloadItem));
    $("no-reloads").hidden = rings.reloads.items.length > 0;
  } else if (name === "shadow") {
    let items = rings.shadow.items;
    items = items.slice(Math.max(0, items.map((line) => line.type).lastIndexOf("begun")));
    $("shadow-list").replaceChildren(...items.map(shadowItem));
    $("no-shadow").hidden = items.length > 0;
  } else {
    fillLog();
  }
}

// The log is JSON unless it goes to a terminal.
function readable(line) {
  if (!line.text.startsWith("{")) return line;
  try {
    const { ts, level, msg, ...fields } = JSON.parse(line.text);
    const rest = Object.entries(fields).map(([name, value]) => " " + name + "=" +
      (typeof value === "string" ? value : JSON.stringify(value)));
    return { level: line.level, text: ts + " " + level.padEnd(5) + " " + msg + rest.join("") };
  } catch {
    return line; // it was cut
  }
}

function fillLog() {
  const least = levels.indexOf($("log-level").value);
  const filter = $("log-filter").value.toLowerCase();
  const lines = rings.log.items.map(readable).filter((line) => levels.indexOf(line.level) >= least &&
    line.text.toLowerCase().includes(filter));
  const colors = { warn: "warn", error: "bad", debug: "dim" };
  $("log-lines").replaceChildren(...lines.map((line) => make("span", colors[line.level] || "", line.text + "\n")));
  if ($("log-follow").checked) $("log-lines").scrollTop = $("log-lines").scrollHeight;
}

// ---- refresh ----

let running = false;
let wanted = false;

async function look() {
  showStatus(await ask("/api/status"));
  if (place.section === "objects") await refreshObjects();
  if (rings[place.section] && await refreshRing(place.section)) fillLists(place.section);
}

// One refresh at a time; a call meanwhile causes another one.
async function refresh() {
  wanted = true;
  if (running) return;
  running = true;
  while (wanted) {
    wanted = false;
    try {
      await look();
      $("connection").textContent = "live";
      $("connection").className = "";
    } catch (error) {
      const lost = error instanceof TypeError;
      $("connection").textContent = lost ? "the host does not answer" : error.message;
      $("connection").className = "lost";
    }
  }
  running = false;
}

// ---- input of the user ----

function typing(event) {
  return ["INPUT", "SELECT", "TEXTAREA"].includes(event.target.tagName);
}

function onKey(event) {
  if (typing(event) || event.ctrlKey || event.altKey || event.metaKey) return;
  const section = sections[Number(event.key) - 1];
  if (section !== undefined) {
    go(section);
    $("tab-" + section).focus();
  } else if (event.key === "/") {
    const filter = $(place.section + "-filter");
    if (filter === null) return;
    event.preventDefault();
    filter.focus();
  }
}

function onTabKey(event) {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (step === undefined) return;
  const at = sections.indexOf(place.section);
  const next = sections[(at + step + sections.length) % sections.length];
  go(next);
  $("tab-" + next).focus();
}

function firstPage() {
  tree.after = [];
  refresh();
}

function listen() {
  for (const section of sections) $("tab-" + section).addEventListener("click", () => go(section));
  $("tabs").addEventListener("keydown", onTabKey);
  document.addEventListener("keydown", onKey);
  window.addEventListener("hashchange", readPlace);
  for (const form of ["objects-form", "log-form"]) $(form).addEventListener("submit", (event) => event.preventDefault());
  $("objects-controller").addEventListener("change", (event) => {
    tree.after = [];
    go("objects", event.target.value);
  });
  $("objects-filter").addEventListener("input", firstPage);
  $("objects-first").addEventListener("click", firstPage);
  $("objects-next").addEventListener("click", () => {
    tree.after.push(tree.last);
    refresh();
  });
  $("tree").addEventListener("keydown", moveInTree);
  $("tree").addEventListener("click", (event) => {
    const item = event.target.closest('[role="treeitem"]');
    if (item === null) return;
    if (event.target.classList.contains("twist")) fold(item, item.getAttribute("aria-expanded") === "true");
    else openKey(item.object.kind, item.object.key);
  });
  $("log-level").addEventListener("change", fillLog);
  $("log-filter").addEventListener("input", fillLog);
  listenToActions();
}

function listenToActions() {
  $("reload").addEventListener("click", () => act("/api/reload", {}, (result) =>
    "Reload: " + result.result + (result.message ? "\n" + result.message : "")));
  $("requeue").addEventListener("click", () => {
    for (const section of showKey.own) {
      act("/api/requeue", { controller: section.controller, key: section.key }, () => section.key + " is queued");
    }
  });
  $("pause").addEventListener("click", () => act("/api/pause", { kind: place.kind, key: place.key },
    () => place.key + " is paused: the annotation perilune.dev/paused is set"));
  $("resume").addEventListener("click", () => act("/api/resume", { kind: place.kind, key: place.key },
    () => place.key + " goes on"));
}

showKey.own = [];
listen();
readPlace();
setInterval(() => {
  if (!document.hidden) refresh();
}, EVERY_MS);
