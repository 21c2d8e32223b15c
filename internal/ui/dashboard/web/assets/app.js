// The page: what is shown where, and the keys.

import { change, fleetAddress, here, stands } from "./address.js";
import { Agents } from "./agents.js";
import { Channel, Channels } from "./channels.js";
import { Attention } from "./attention.js";
import { Doings } from "./doings.js";
import { Fleet } from "./fleet.js";
import { showLink } from "./link.js";
import { Nights } from "./nights.js";
import { Notify } from "./notify.js";
import { Search } from "./search.js";
import { Stage } from "./stage.js";
import { Talk } from "./talk.js";
import { Tick } from "./tick.js";
import { Wire } from "./wire.js";
import { $, shortName, waitsForYou } from "./words.js";

let wire = null;
let told = "";
let opened = ""; // the session that the stage shows, or "tick", "channel" or "talk"

// What was drawn, for measurements.
const drawn = globalThis.denDrawn = { large: 0, thumbs: 0, first: 0 };

const fleet = new Fleet((ids) => {
  const next = ids.sort().join();
  if (next === told) return;
  told = next;
  wire?.show({ thumbs: ids });
});
const agents = new Agents((name) => fleet.named(name));
fleet.nameOf = (s) => agents.nameOf(s);
const attention = new Attention((name) => fleet.named(name), () => fleet.now());
const notify = new Notify($("notify"));
const stage = new Stage((at, clock) => {
  tick.moved(clock);
  stands(() => stage.at);
});
const doings = new Doings(stage);
const nights = new Nights(() => fleet.now());
const tick = new Tick({ stage, session: (id) => fleet.find(id), show: (id) => wire.show({ large: id }), now: () => fleet.now() });

const channel = new Channel();
const talk = new Talk((name) => agents.named(name), (name) => fleet.named(name));
let channels = null; // or what follows them
const search = new Search(() => fleet.order().map((id) => fleet.find(id)).filter(Boolean));

function heard(m) {
  if (m.homes) {
    for (const h of m.homes.homes) for (const s of h.sessions) s.own = h.own ?? false;
    fleet.skew = Date.parse(m.now) - Date.now();
    agents.know(m.agents ?? null);
    fleet.list(m.homes.homes, m.homes.problem);
    agents.render();
    attention.allow(m.actions ?? false);
    doings.allow(m.actions ?? false);
    document.body.dataset.acts = m.actions ? "yes" : "no";
    attention.list(m.agents?.attention ?? null);
    talk.allow(m.actions ?? false);
    nights.list(m.kernels ?? null);
    if (m.agents && !channels) (channels = new Channels()).follow();
    route();
    retitle();
    notify.tell(needing());
  }
  for (const p of m.paints ?? []) {
    if (!p.large) fleet.paint(p);
    else if (p.id === stage.session?.id) stage.paint(p);
    drawn[p.large ? "large" : "thumbs"]++;
    drawn.first ||= performance.now();
  }
}

// route shows what the address says; moved says that it has changed.
function route(moved = false) {
  const to = here();
  const [what, name, number, terminal = ""] = to.path;
  if (moved) refilter(to);
  if (what === "kernel" && Number(number) > 0) {
    const fresh = moved || opened !== "tick";
    openTick(name, Number(number), terminal);
    if (fresh) stage.go(to.at);
    return;
  }
  if (what === "channel" && name) return openChannel(name);
  if (what === "talk" && name) return openTalk(name, to.n, moved);
  if (opened === "tick" || opened === "channel" || opened === "talk") shut();
  const s = what ? fleet.find(what) : null;
  if (s && opened === s.id) {
    describe(s);
    if (moved) stage.go(to.at, to.find);
    return;
  }
  if (s) {
    open(s);
    return stage.go(to.at, to.find);
  }
  if (!what && fleet.cards.size) search.find(to.find);
  if (opened || document.body.dataset.view !== "fleet") shut();
}

// refilter takes the filter from the address. Beside a session it stays as it
// is, unless the address has one.
function refilter(to) {
  if (to.path[0] && !to.filtered) return;
  $("filter").value = to.filter;
  press(to.all, fleet.needs);
  fleet.show({ filter: to.filter, all: to.all });
}

function open(s) {
  opened = s.id;
  fleet.last = s.id;
  document.body.dataset.view = "session";
  document.body.dataset.session = s.id;
  $("stage").hidden = false;
  fleet.render();
  for (const [id, card] of fleet.cards) card.root.toggleAttribute("aria-current", id === s.id);
  wire.show({ large: s.id });
  stage.open(s);
  describe(s);
  retitle();
  fleet.cards.get(s.id)?.root.scrollIntoView({ block: "nearest" });
}

function openTick(name, number, terminal) {
  if (opened !== "tick") {
    if (opened) shut();
    opened = "tick";
    document.body.dataset.view = "tick";
    document.body.dataset.session = "";
    $("stage").hidden = false;
  }
  tick.open(name, number, terminal);
  retitle();
}

function openChannel(name) {
  if (opened !== "channel") {
    if (opened) shut();
    opened = "channel";
    document.body.dataset.view = "channel";
  }
  channel.open(name);
  retitle();
}

function openTalk(name, n, moved) {
  const fresh = opened !== "talk" || talk.name !== name;
  if (opened !== "talk") {
    if (opened) shut();
    opened = "talk";
    document.body.dataset.view = "channel";
  }
  talk.open(name, n);
  if (!fresh && moved) talk.go(n);
  retitle();
}

function describe(s) {
  if (opened === "tick") return tick.describe();
  const agent = agents.of(s);
  stage.describe(s, fleet.now(), agent, attention.of(agent));
  doings.show(s, agent, attention.ofAgent(agent));
}

// needing is all that needs a person, what waits longest first: what the keeper
// tells, and the sessions of which it does not.
function needing() {
  const told = new Set(attention.waiting.map((w) => w.session).filter(Boolean));
  const all = attention.waiting.map((w) => ({ id: w.id, since: Date.parse(w.since ?? "") || Infinity, session: w.session, who: w.agent ?? "workspace", what: w.what }));
  for (const s of fleet.queue()) {
    if (told.has(s.session) || told.has(s.id)) continue;
    const a = s.attention;
    all.push({ id: s.id, since: Date.parse(a.since ?? "") || Infinity, session: s.id, who: shortName(s), what: a.what ?? a.state });
  }
  return all.sort((a, b) => a.since - b.since);
}

// next goes to what needs a person behind what was gone to last.
let visited = "";
function next() {
  const all = needing();
  if (!all.length) return;
  const to = all[(all.findIndex((x) => x.id === visited) + 1) % all.length];
  visited = to.id;
  const s = fleet.find(to.session) ?? fleet.named(to.session);
  if (s) location.hash = `#/${s.id}`;
  else $("waits").click();
}

// retitle says what the page shows, and how much waits: a tab may be hidden.
function retitle() {
  const count = needing().length + attention.left;
  const waits = count ? `(${count}) ` : "";
  $("waits").hidden = !count;
  $("waits").textContent = waitsForYou(count);
  const icon = count ? `/assets/icons/${Math.min(count, 10)}` : "/assets/icon.svg";
  if ($("icon").getAttribute("href") !== icon) $("icon").setAttribute("href", icon);
  const shown = opened === "talk" ? `${talk.name} · ` : opened === "channel" ? `${channel.name} · ` : opened === "tick" ? `${tick.title} · ` : opened && stage.session ? `${shortName(stage.session)} · ` : "";
  document.title = `${waits}${shown}den`;
}

function shut() {
  if (opened === "tick") tick.close();
  if (opened === "channel") channel.close();
  if (opened === "talk") talk.close();
  opened = "";
  document.body.dataset.view = "fleet";
  document.body.dataset.session = "";
  retitle();
  $("stage").hidden = true;
  doings.closed();
  wire.show({ large: "" });
  stage.close();
  fleet.render();
  for (const card of fleet.cards.values()) card.root.removeAttribute("aria-current");
  fleet.focusFirst();
}

function press(all, only = false) {
  $("show-active").setAttribute("aria-pressed", !all && !only);
  $("show-all").setAttribute("aria-pressed", all && !only);
  $("show-needs").setAttribute("aria-pressed", only);
}

function showAll(all, only = false) {
  press(all, only);
  fleet.show({ all, only });
  change({ all: all ? "1" : "" }, true);
}

function filterBy(filter) {
  fleet.show({ filter });
  change({ q: filter }, !here().filter);
}

// home goes to all sessions, with the filter and the search as they are.
function home() { location.hash = fleetAddress($("filter").value, fleet.all, search.words); }

$("show-active").onclick = () => showAll(false);
$("show-all").onclick = () => showAll(true);
$("show-needs").onclick = () => showAll(fleet.all, true);
$("filter").oninput = (e) => filterBy(e.target.value);
$("search-open").onclick = () => search.open();
for (const back of document.querySelectorAll(".back")) back.onclick = (e) => {
  e.preventDefault();
  home();
};
$("waits").onclick = (e) => {
  e.preventDefault();
  location.hash = "#/";
  if (opened) shut();
  if ($("attention").hidden) showAll(fleet.all, true);
  else $("attention").scrollIntoView({ block: "start" });
};
$("theme").onclick = () => switchTheme();
function openHelp() {
  $("help").showModal();
  $("help").scrollTop = 0; // its button has the focus, and is at the end
}
$("help-open").onclick = openHelp;
addEventListener("hashchange", () => route(true));
addEventListener("click", (e) => {
  for (const menu of document.querySelectorAll("details.menu[open]")) if (!menu.contains(e.target) || e.target.closest("a")) menu.open = false;
});
setInterval(() => {
  fleet.tick();
  attention.tick();
  nights.tick();
  if (stage.session) describe(stage.session);
}, 1000);

// other opens the session before or after the one on the stage.
function other(direction) {
  const order = fleet.order();
  const next = order[order.indexOf(opened) + direction];
  if (next) location.hash = `#/${next}`;
}

function back() {
  const menu = document.querySelector("details.menu[open]");
  if (menu) menu.open = false;
  else if (opened && stage.past) stage.newest();
  else if (opened) home();
}

const everywhere = {
  "/": () => $("filter").focus(),
  "?": openHelp,
  a: () => showAll(!fleet.all),
  u: () => showAll(fleet.all, !fleet.needs),
  w: next,
  f: () => { if (opened) home(); search.open(); },
  n: () => { if (opened) home(); nights.focus(); },
  t: () => switchTheme(),
  Escape: back,
};

const inFleet = {
  ArrowLeft: () => fleet.focusFirst(), ArrowRight: () => fleet.focusFirst(), ArrowUp: () => fleet.focusFirst(), ArrowDown: () => fleet.focusFirst(),
};

const inSession = {
  ArrowLeft: (e) => (e.shiftKey ? stage.jump(-0.1) : stage.step(-1)),
  ArrowRight: (e) => (e.shiftKey ? stage.jump(0.1) : stage.step(1)),
  ArrowUp: () => other(-1),
  ArrowDown: () => other(1),
  Home: () => stage.begin(),
  End: () => stage.newest(),
  " ": () => stage.play(),
  "[": () => stage.nextCell(-1),
  "]": () => stage.nextCell(1),
  "<": () => stage.hits.next(-1),
  ">": () => stage.hits.next(1),
  p: () => stage.pinned(),
  s: () => document.querySelector("[data-shot=png]").click(),
  z: () => stage.zoom(),
  i: () => doings.take(),
  m: () => { if (!$("message").hidden) $("message").click(); },
};

const inTalk = {
  ArrowUp: () => talk.step(-1),
  ArrowDown: () => talk.step(1),
  Home: () => talk.first(),
  End: () => talk.newest(),
};

const inTick = {
  ...inSession,
  ArrowUp: () => tick.other(-1),
  ArrowDown: () => tick.other(1),
  "[": () => tick.next(-1),
  "]": () => tick.next(1),
};

addEventListener("keydown", (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey || $("help").open) return;
  if (e.target.closest?.(".request, .note-card, .doings, .typing, .say")) return; // keys there press its buttons, and nothing else
  if (e.target.closest?.("#search input, dialog")) {
    if (e.key === "Escape" && e.target.id === "find") search.close();
    return;
  }
  const field = e.target.matches?.("input");
  if (field) {
    if (e.key === "Escape" || e.key === "Enter" || e.key === "ArrowDown") {
      if (e.key === "Escape") { e.target.value = ""; filterBy(""); }
      e.preventDefault();
      fleet.focusFirst();
    }
    return;
  }
  if (e.key === " " && e.target.matches?.("button, summary, a")) return; // it presses that
  const act = (opened === "channel" ? {} : opened === "talk" ? inTalk : opened === "tick" ? inTick : opened ? inSession : inFleet)[e.key] ?? everywhere[e.key];
  if (!act) return;
  e.preventDefault();
  act(e);
});

refilter(here());
wire = new Wire(heard, showLink);
