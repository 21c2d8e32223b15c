// The page: what is shown where, and the keys.

import { Agents } from "./agents.js";
import { Attention } from "./attention.js";
import { Fleet } from "./fleet.js";
import { showLink } from "./link.js";
import { Nights } from "./nights.js";
import { Stage } from "./stage.js";
import { Tick } from "./tick.js";
import { Wire } from "./wire.js";
import { $, shortName } from "./words.js";

let wire = null;
let told = "";
let opened = ""; // the session that the stage shows, or "tick"

// What was drawn, for measurements.
const drawn = globalThis.denDrawn = { large: 0, thumbs: 0, first: 0 };

const fleet = new Fleet((ids) => {
  const next = ids.sort().join();
  if (next === told) return;
  told = next;
  wire?.show({ thumbs: ids });
});
const agents = new Agents((name) => fleet.named(name));
const attention = new Attention((name) => fleet.named(name), () => fleet.now());
const stage = new Stage((at, clock) => tick.moved(clock));
const nights = new Nights(() => fleet.now());
const tick = new Tick({ stage, session: (id) => fleet.find(id), show: (id) => wire.show({ large: id }), now: () => fleet.now() });

function heard(m) {
  if (m.homes) {
    fleet.skew = Date.parse(m.now) - Date.now();
    fleet.list(m.homes.homes, m.homes.problem);
    agents.list(m.agents ?? null);
    attention.allow(m.actions ?? false);
    attention.list(m.agents?.attention ?? null);
    nights.list(m.kernels ?? null);
    route();
    retitle();
  }
  for (const p of m.paints ?? []) {
    if (!p.large) fleet.paint(p);
    else if (p.id === stage.session?.id) stage.paint(p);
    drawn[p.large ? "large" : "thumbs"]++;
    drawn.first ||= performance.now();
  }
}

function route() {
  const [what, name, number, terminal = ""] = location.hash.slice(2).split("/").map(decoded);
  if (what === "kernel" && Number(number) > 0) return openTick(name, Number(number), terminal);
  if (opened === "tick") shut();
  const id = location.hash.slice(2);
  const s = id ? fleet.find(id) : null;
  if (s && opened === id) {
    describe(s);
    return;
  }
  if (s) return open(s);
  if (opened || document.body.dataset.view !== "fleet") shut();
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

// decoded is a part of an address; one that makes no sense stays as it is.
function decoded(part) {
  try { return decodeURIComponent(part); } catch { return part; }
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

function describe(s) {
  if (opened === "tick") return tick.describe();
  const agent = agents.of(s);
  stage.describe(s, fleet.now(), agent, attention.of(agent));
}

// retitle says what the page shows, and how much waits: a tab may be hidden.
function retitle() {
  const waits = attention.count ? `(${attention.count}) ` : "";
  const shown = opened === "tick" ? `${tick.title} · ` : opened && stage.session ? `${shortName(stage.session)} · ` : "";
  document.title = `${waits}${shown}den`;
}

function shut() {
  if (opened === "tick") tick.close();
  opened = "";
  document.body.dataset.view = "fleet";
  document.body.dataset.session = "";
  retitle();
  $("stage").hidden = true;
  wire.show({ large: "" });
  stage.close();
  fleet.render();
  for (const card of fleet.cards.values()) card.root.removeAttribute("aria-current");
  fleet.focusFirst();
}

function showAll(all) {
  $("show-active").setAttribute("aria-pressed", !all);
  $("show-all").setAttribute("aria-pressed", all);
  fleet.show({ all });
}

$("show-active").onclick = () => showAll(false);
$("show-all").onclick = () => showAll(true);
$("filter").oninput = (e) => fleet.show({ filter: e.target.value });
$("waits").onclick = (e) => {
  e.preventDefault();
  location.hash = "#/";
  if (opened) shut();
  $("attention").scrollIntoView({ block: "start" });
};
$("theme").onclick = () => switchTheme();
$("help-open").onclick = () => $("help").showModal();
addEventListener("hashchange", route);
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
  else if (opened) location.hash = "#/";
}

const everywhere = {
  "/": () => $("filter").focus(),
  "?": () => $("help").showModal(),
  a: () => showAll(!fleet.all),
  n: () => { if (opened) location.hash = "#/"; nights.focus(); },
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
  s: () => document.querySelector("[data-shot=png]").click(),
  z: () => stage.zoom(),
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
  if (e.target.closest?.(".request")) return; // keys there press its buttons, and nothing else
  const field = e.target.matches?.("input");
  if (field) {
    if (e.key === "Escape" || e.key === "Enter" || e.key === "ArrowDown") {
      if (e.key === "Escape") { e.target.value = ""; fleet.show({ filter: "" }); }
      e.preventDefault();
      fleet.focusFirst();
    }
    return;
  }
  if (e.key === " " && e.target.matches?.("button, summary, a")) return; // it presses that
  const act = (opened === "tick" ? inTick : opened ? inSession : inFleet)[e.key] ?? everywhere[e.key];
  if (!act) return;
  e.preventDefault();
  act(e);
});

wire = new Wire(heard, showLink);
