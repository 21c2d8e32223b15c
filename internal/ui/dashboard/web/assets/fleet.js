// The fleet: a card with a live thumbnail for each session, and the agents of
// the workspace.

import { Easel, cellRatio } from "./easel.js";
import { Screen } from "./screen.js";
import { $, age, byNeed, el, ending, isActive, lived, needs, place, shortName, tone } from "./words.js";

export class Fleet {
  cards = new Map(); // by id
  #visible = new Set();
  #homes = [];
  #told = false; // whether den has told which there are
  #filter = "";
  #all = false;
  #needs = false; // only what needs a person
  #painted = new Set(); // cards whose last line may have changed

  // seen takes the ids whose thumbnails can be seen.
  constructor(seen) {
    this.seen = seen;
    this.watcher = new IntersectionObserver((entries) => {
      for (const e of entries) {
        const id = e.target.dataset.id;
        if (e.isIntersecting) this.#visible.add(id); else this.#visible.delete(id);
      }
      this.#tell();
    }, { rootMargin: "160px" });
    this.sizes = new ResizeObserver((entries) => {
      for (const e of entries) this.cards.get(e.target.closest(".card")?.dataset.id)?.sized(e.contentRect);
    });
    addEventListener("fontscame", () => { for (const card of this.cards.values()) card.resize(); });
    this.#grid();
  }

  get all() { return this.#all; }

  get needs() { return this.#needs; }

  // queue is the sessions that need a person, what waits longest first.
  queue() { return this.#homes.flatMap((h) => h.sessions).filter(needs).sort(byNeed); }

  list(homes, problem) {
    this.#homes = homes;
    this.#told = true;
    this.problem = problem;
    this.render();
  }

  show({ filter = this.#filter, all = this.#all, only = this.#needs }) {
    this.#filter = filter;
    this.#all = all;
    this.#needs = only;
    this.render();
  }

  find(id) {
    for (const h of this.#homes) for (const s of h.sessions) if (s.id === id) return s;
    return null;
  }

  // named finds the session that an agent lives in.
  named(name) {
    for (const h of this.#homes) for (const s of h.sessions) if (isActive(s) && (s.session === name || shortName(s) === name || s.id === name)) return s;
    return null;
  }

  // order is the ids as they are shown.
  order() { return [...document.querySelectorAll(".card")].map((c) => c.dataset.id); }

  #matches(s, current) {
    if (s.id === current) return true;
    if (this.#needs ? !needs(s) : !this.#all && !isActive(s)) return false;
    const hay = [s.session, s.id, s.status, s.attention?.state, needs(s) ? "needs-you" : "", s.command?.join(" "), s.cwd, s.home, ...Object.entries(s.labels ?? {}).map(([k, v]) => `${k}=${v}`)].join("\n").toLowerCase();
    return this.#filter.toLowerCase().split(/\s+/).every((w) => hay.includes(w));
  }

  render() {
    const current = document.body.dataset.session;
    const shown = new Set();
    const groups = [];
    for (const h of this.#homes) {
      const sessions = h.sessions.filter((s) => this.#matches(s, current));
      if (this.#needs) sessions.sort((a, b) => needs(b) - needs(a) || byNeed(a, b));
      if (!sessions.length && !h.problem) continue;
      for (const s of sessions) shown.add(s.id);
      groups.push(this.#group(h, sessions, groups.length));
    }
    for (const [id, card] of this.cards) {
      if (shown.has(id)) continue;
      this.watcher.unobserve(card.root);
      this.sizes.unobserve(card.canvas);
      this.#visible.delete(id);
      this.cards.delete(id);
    }
    place($("homes"), groups);
    this.#counts(shown.size);
    this.#tell();
  }

  #group(home, sessions) {
    const key = `home-${home.path}`;
    let g = document.getElementById(key);
    if (!g) {
      g = el("section.home", { id: key }, el("h2"), el("p.problem"), el("div.grid"));
    }
    const [title, problem, grid] = g.children;
    const several = this.#homes.filter((h) => h.sessions.length).length > 1;
    title.hidden = !several;
    title.textContent = home.path + (home.left && this.#all ? ` · ${home.left} older` : "");
    problem.hidden = !home.problem;
    problem.textContent = home.problem ?? "";
    place(grid, sessions.map((s) => this.#card(s).root));
    return g;
  }

  #card(s) {
    let card = this.cards.get(s.id);
    if (!card) {
      card = new Card(s.id);
      this.cards.set(s.id, card);
      this.watcher.observe(card.root);
      this.sizes.observe(card.canvas);
    }
    card.describe(s, this.now(), this.nameOf(s));
    return card;
  }

  // nameOf is what a session is called.
  nameOf(s) { return shortName(s); }

  now() { return Date.now() + (this.skew ?? 0); }

  #counts(shown) {
    if (!this.#told) return;
    let active = 0, total = 0;
    const states = {};
    for (const h of this.#homes) {
      active += h.active;
      total += h.sessions.length + (h.left ?? 0);
      for (const s of h.sessions) states[s.attention?.state] = (states[s.attention?.state] ?? 0) + 1;
    }
    const summary = ["asking", "failed", "done", "busy", "ready"].filter((s) => states[s]).map((s) => `${states[s]} ${s}`);
    $("counts").textContent = $("counts").title = [total > active ? `${active} of ${total} active` : `${active} active`, ...summary].join(" · ");
    const nothing = $("nothing");
    nothing.hidden = shown > 0;
    nothing.textContent = this.problem ?? (this.#filter ? `No session matches “${this.#filter}”.` : this.#needs ? "No session needs you." : total ? "No session is active. Press a to see those that are over." : "No sessions yet. Start one: den new work bash");
  }

  #tell() { this.seen([...this.#visible]); }

  paint(p) {
    const card = this.cards.get(p.id);
    if (!card) return;
    card.paint(p);
    if (!this.#painted.size) setTimeout(() => this.#lastLines(), card.last.textContent ? 1000 : 100);
    this.#painted.add(card);
  }

  // lastLines writes below the thumbnails what they show last: together, for
  // the page is laid out again after each that is written alone.
  #lastLines() {
    for (const card of this.#painted) card.last.textContent = card.screen ? lastLine(card.screen) : "";
    this.#painted.clear();
  }

  tick() {
    for (const card of this.cards.values()) card.age(this.now());
  }

  // Arrows move among the cards by where they are.
  #grid() {
    $("fleet").addEventListener("keydown", (e) => {
      const from = e.target.closest?.(".card");
      if (!from || !e.key.startsWith("Arrow") || e.altKey || e.ctrlKey || e.metaKey) return;
      const to = neighbour(from, e.key);
      if (!to) return;
      e.preventDefault();
      e.stopPropagation();
      to.focus();
    });
  }

  focusFirst() {
    const id = document.body.dataset.session || this.last;
    (this.cards.get(id)?.root ?? document.querySelector(".card"))?.focus();
  }
}

// lastLine is the last line of a screen that has text.
function lastLine(screen) {
  for (let y = screen.lines.length - 1; y >= 0; y--) {
    const text = screen.text(y).trim();
    if (text) return text;
  }
  return "";
}

function neighbour(from, key) {
  const all = [...document.querySelectorAll(".card")];
  const i = all.indexOf(from);
  if (key === "ArrowLeft") return all[i - 1];
  if (key === "ArrowRight") return all[i + 1];
  const at = from.getBoundingClientRect();
  const down = key === "ArrowDown";
  let best = null, least = Infinity;
  for (const c of all) {
    const r = c.getBoundingClientRect();
    const dy = down ? r.top - at.top : at.top - r.top;
    if (dy < at.height / 2) continue;
    const far = dy * 4 + Math.abs(r.left - at.left);
    if (far < least) [best, least] = [c, far];
  }
  return best;
}

class Card {
  constructor(id) {
    this.canvas = el("canvas", { "aria-hidden": "true" });
    this.name = el("b");
    this.dot = el("i.dot");
    this.when = el("time");
    this.what = el("p.what");
    this.how = el("span.how");
    this.need = el("span.need");
    this.last = el("p.last", { "aria-hidden": "true" });
    this.root = el("a.card", { href: `#/${id}`, "data-id": id }, el("div.thumb", {}, this.canvas),
      el("div.label", {}, this.dot, this.name, this.need, this.how, this.when), this.what, this.last);
    this.easel = new Easel(this.canvas);
    this.screen = null;
    this.size = { width: 0, height: 0 }; // of the canvas, as the browser told: to ask it would lay out the page at every paint
  }

  describe(s, now, name) {
    this.session = s;
    this.name.textContent = name;
    this.name.title = s.session;
    this.dot.dataset.tone = tone(s);
    this.how.textContent = isActive(s) && s.status === "running" ? "" : ending(s);
    this.how.dataset.tone = tone(s);
    const a = s.attention ?? {};
    this.need.textContent = isActive(s) || needs(s) ? a.state ?? "" : "";
    this.need.dataset.state = a.state ?? "";
    this.root.classList.toggle("needs", needs(s));
    const news = needs(s) && a.what !== ending(s) ? a.what : ""; // how it ended is said above
    this.what.textContent = s.problem ?? (news || (s.command?.join(" ") ?? ""));
    this.root.classList.toggle("over", !isActive(s));
    this.root.setAttribute("aria-label", [s.session, ending(s), this.need.textContent, this.what.textContent].filter(Boolean).join(", "));
    this.age(now);
  }

  age(now) {
    if (!this.session) return;
    this.when.textContent = age(lived(this.session, now));
  }

  paint(p) {
    if (p.problem) { this.what.textContent = p.problem; return; }
    if (!p.lines) return;
    this.screen ??= new Screen();
    const rows = this.screen.apply(p);
    this.canvas.parentElement.style.background = this.screen.bg;
    this.canvas.classList.add("drawn");
    if (this.resize() || !this.easel.cw) return; // one that is not shown has no size: it is drawn when it has
    this.easel.paint(this.screen, rows);
  }

  sized(size) {
    this.size = size;
    this.resize();
  }

  // resize fits the screen into the thumbnail; true if it was drawn anew.
  resize() {
    if (!this.screen?.cols) return false;
    const wide = Math.round(this.size.width), tall = Math.round(this.size.height);
    if (!wide || !tall) return false;
    const w = Math.round(wide * devicePixelRatio), h = Math.round(tall * devicePixelRatio);
    const { cell, top } = this.#view(w, h);
    const moved = top !== this.easel.top;
    this.easel.top = top;
    if (!this.easel.size(this.screen, cell, w, h) && !moved) return false;
    this.easel.paint(this.screen);
    return true;
  }

  // view says what of the screen is shown, and how large: all of a program
  // that draws its screen; of printed text the columns that are in use and the
  // newest rows, so that it can be read.
  #view(w, h) {
    const s = this.screen;
    const all = Math.min(w / s.cols, h / (s.rows * cellRatio));
    if (s.alt) return { cell: all, top: 0 };
    let wide = 0, last = s.cursor.row;
    s.lines.forEach((line, y) => {
      const r = line.runs.at(-1);
      if (!r) return;
      wide = Math.max(wide, r.x + r.w);
      last = Math.max(last, y);
    });
    wide = Math.min(s.cols, Math.max(60, Math.ceil(wide / 20) * 20));
    if (wide < this.wide && wide > this.wide / 2) wide = this.wide; // it must not flicker
    this.wide = wide;
    const cell = Math.max(all, w / wide);
    return { cell, top: Math.max(0, last + 1 - Math.floor(h / (cell * cellRatio))) };
  }
}
