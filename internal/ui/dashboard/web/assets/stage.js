// The stage: one session, large, live or at an earlier moment.

import { leap } from "./address.js";
import { Cells } from "./cells.js";
import { Easel, cellRatio, fontSize } from "./easel.js";
import { Hits } from "./hits.js";
import { askToOpen, linkAt } from "./links.js";
import { Pin } from "./pin.js";
import { Screen } from "./screen.js";
import { talkAddress } from "./talk.js";
import { Timeline } from "./timeline.js";
import { $, bypassMark, clock, el, ending, isActive, lived, shortName, span, tone, treeText, waitsForYou, wall } from "./words.js";
import { Latest, ask, save } from "./wire.js";

const speeds = [1, 2, 4, 8, 16];
const narrow = matchMedia("(max-width: 860px)");
const widest = 13; // pixels of a cell: larger letters help nobody

export class Stage {
  session = null;
  past = null; // the screen of an earlier moment, or null
  #live = null;
  #latest = new Latest();
  #playing = 0; // a number that each play has for itself; 0: it stands
  #speed = 0;
  #full = false;
  #poll = 0;
  #due = null; // the moment to show when there is a session
  #asked = 0; // what was asked for before this number was raised is not shown

  // moved takes the moment that is shown: its place in nanoseconds and the
  // clock then, or nulls for the newest.
  constructor(moved = () => {}) {
    this.moved = moved;
    this.easel = new Easel($("large"));
    this.timeline = new Timeline((ns, far) => this.seek(ns, far), () => this.#runs());
    this.cells = new Cells((c) => this.seek(c.end?.seq ? c.end.elapsed_ns : c.start.elapsed_ns, true));
    this.pin = new Pin();
    this.hits = new Hits((all) => { this.timeline.hits = all; this.timeline.draw(); }, (ns) => this.seek(ns, true));
    this.hits.at = () => this.timeline.at;
    new ResizeObserver(() => this.#draw()).observe($("screen"));
    addEventListener("fontscame", () => this.#draw());
    $("text").addEventListener("click", (e) => this.#follows(e));
    $("text").addEventListener("pointermove", (e) => { $("text").style.cursor = this.#link(e) ? "pointer" : ""; });
    $("attach").onclick = () => this.#copyAttach();
    $("pin").onclick = $("compare-close").onclick = () => this.pinned();
    $("step-back").onclick = () => this.step(-1);
    $("step-on").onclick = () => this.step(1);
    $("play").onclick = () => this.play();
    $("now").onclick = () => this.newest();
    $("speed").onclick = () => { this.#speed = (this.#speed + 1) % speeds.length; $("speed").textContent = `${speeds[this.#speed]}×`; };
    $("zoom").onclick = () => this.zoom();
    for (const a of document.querySelectorAll("[data-shot], [data-film]")) a.addEventListener("click", (e) => { e.preventDefault(); this.#save(a); });
    setInterval(() => this.#blink(), 600);
  }

  open(session) {
    this.close();
    this.session = session;
    this.describe(session, Date.now());
    this.cells.show([], null);
    $("note").hidden = true;
    this.easel.ctx.clearRect(0, 0, this.easel.canvas.width, this.easel.canvas.height);
    this.#follow(++this.#poll);
    if (session.base) this.#still(this.#poll);
    this.#moment();
    if (this.#due !== null) this.go(this.#due);
    $("screen").focus({ preventScroll: true });
  }

  close() {
    this.#poll++;
    this.#asked++;
    this.#playing = 0;
    this.pin.clear();
    this.timeline.range = null;
    this.hits.find("", "");
    this.session = this.past = this.#live = this.timeline.line = null;
    this.timeline.at = null;
    $("text").replaceChildren();
  }

  // base is where den answers about what is shown: a session, or a recording
  // that says where.
  get base() { return this.session.base ?? `/api/sessions/${this.session.id}`; }

  // still shows the end of a recording, of which nothing new is sent.
  async #still(poll) {
    try {
      const p = await ask(`${this.base}/at`);
      if (poll === this.#poll) this.paint(p);
    } catch (err) {
      if (poll === this.#poll) this.#say(err.message);
    }
  }

  // none says why there is no screen.
  none(why) {
    this.close();
    $("paper").hidden = true;
    this.#say(why, "busy");
    this.#moment();
  }

  get shown() { return this.past ?? this.#live; }

  // runs is how long a session has run until now, or 0 if it is over.
  #runs() {
    if (!this.session || this.session.base || !isActive(this.session)) return 0;
    return (Date.now() + (this.skew ?? 0) - this.timeline.start) * 1e6;
  }

  describe(s, now, agent, waits) {
    this.session = s;
    this.skew = now - Date.now();
    if (isActive(s)) this.timeline.draw(); // it goes on
    this.described = [s, now, agent, waits];
    $("attach").hidden = Boolean(s.base) || !isActive(s);
    $("stage-name").textContent = s.title ?? agent?.name ?? shortName(s);
    $("stage-dot").dataset.tone = s.tone ?? tone(s);
    $("stage-what").textContent = s.what ?? s.problem ?? s.command?.join(" ") ?? "";
    const size = this.shown ? `${this.shown.cols}×${this.shown.rows}` : `${s.cols}×${s.rows}`;
    const facts = s.facts ?? [["status", ending(s)], [isActive(s) ? "runs for" : "ran for", span(lived(s, now))], ["size", size], ["event", this.shown?.seq ?? ""]];
    $("facts").replaceChildren(...facts.map(([k, v]) => el("div", {}, el("dt", { textContent: k }), el("dd", { textContent: v }))));
    const box = $("stage-agent");
    box.hidden = !agent;
    if (agent) box.replaceChildren(el("b", { textContent: `agent ${agent.name}` }), ...bypassMark(agent), el("span", { textContent: agent.wanted === agent.actual ? agent.actual : `${agent.actual}, wanted ${agent.wanted}` }),
      ...(agent.worktree ? [el("span.tree", { textContent: treeText(agent.worktree), title: agent.worktree.path })] : []), el("span.why", { textContent: agent.why === "runs" ? "" : agent.why }),
      ...(agent.mind ? [el("a.asks", { href: talkAddress(agent.name), textContent: "Conversation" })] : []),
      ...(waits ? [el("a.asks", { href: "#/", textContent: waitsForYou(waits) })] : []));
    this.#links();
  }

  #links() {
    const { base } = this;
    const seq = this.past ? `&seq=${this.past.seq}` : "";
    for (const a of document.querySelectorAll("[data-shot]")) a.href = `${base}/screenshot?format=${a.dataset.shot}${seq}`;
    const range = this.pin.range(this.#position()), was = this.timeline.range;
    this.timeline.range = range;
    if (String(range) !== String(was)) this.timeline.draw();
    const part = range ? `&from=${Math.round(range[0])}&to=${Math.round(range[1])}` : "";
    for (const a of document.querySelectorAll("[data-film]")) a.href = `${base}/recording?format=${a.dataset.film}${part}`;
    $("film-what").textContent = range ? `Clip ${clock(range[0])} – ${clock(range[1])}` : "Recording";
  }

  // position is where the shown screen is in time. The timeline may be ahead of
  // it, until another screen has come.
  #position() { return this.past?.at ?? (this.shown ? Number(this.shown.t) : null); }

  // pinned pins the shown moment, or lets the pinned one go.
  pinned() {
    if (this.pin.at !== null) this.pin.clear();
    else if (this.shown) this.pin.take(this.#position(), this.#lines());
    this.#compare();
    this.timeline.draw();
  }

  #lines() { return Array.from({ length: this.shown.rows }, (_, y) => this.shown.text(y)); }

  #compare() {
    if (!this.session) return;
    this.#links();
    if (this.shown) this.pin.show(this.#lines(), this.#position());
  }

  // cell is where the pointer is on the screen that is shown, from 0.
  cell(e) {
    const s = this.shown, box = $("text").getBoundingClientRect();
    const at = (part, n) => Math.min(Math.max(Math.floor(part * n), 0), n - 1);
    return { row: at((e.clientY - box.top) / box.height, s.rows), col: at((e.clientX - box.left) / box.width, s.cols) };
  }

  // link is the address under the pointer, or "".
  #link(e) {
    if (!this.shown) return "";
    const { row, col } = this.cell(e);
    return linkAt(this.shown, row, col);
  }

  #follows(e) {
    const address = getSelection().isCollapsed ? this.#link(e) : "";
    if (address) askToOpen(address);
  }

  // copyAttach copies the command that attaches a terminal to the session.
  async #copyAttach() {
    const elsewhere = this.session.own ? "" : `DEN_HOME=${quoted(this.session.home)} `;
    const command = `${elsewhere}den attach ${quoted(this.session.session)}`;
    try {
      await navigator.clipboard.writeText(command);
      this.#say(`Copied: ${command}`, "busy");
    } catch {
      this.#say(command, "busy"); // there is no clipboard here: it can be selected
    }
  }

  // paint takes what den sends of the session as it is now.
  paint(p) {
    if (p.problem) this.#say(p.problem);
    if (!p.lines) return;
    const first = !this.#live;
    this.#live ??= new Screen();
    const rows = this.#live.apply(p);
    if (!this.past) this.#draw(rows);
    if (first) {
      this.#moment();
      this.describe(...this.described);
    }
  }

  #say(words, tone = "bad") {
    const note = $("note");
    note.hidden = !words;
    note.dataset.tone = tone;
    note.textContent = words ?? "";
  }

  // save downloads what a link leads to, and says how that goes.
  async #save(a) {
    const asked = this.#poll, making = `Making ${a.textContent} …`;
    this.#say(making, "busy");
    let word = "";
    try {
      await save(a.href);
    } catch (err) {
      word = err.message;
    }
    if (asked === this.#poll && (word || $("note").textContent === making)) this.#say(word);
  }

  // draw shows the screen: some rows, or all.
  #draw(rows = null) {
    const s = this.shown;
    if (!s?.cols) return;
    const box = $("screen");
    const dpr = devicePixelRatio;
    // On a narrow page the screen is as tall as it must be, for that scrolls.
    const tall = narrow.matches ? Infinity : box.clientHeight - 32;
    const beside = narrow.matches ? 20 : 32;
    let cw = Math.floor(Math.min(((box.clientWidth - beside) * dpr) / s.cols, (tall * dpr) / s.rows / cellRatio, widest * dpr));
    if (this.#full) cw = Math.max(cw, Math.round(9 * dpr));
    cw = Math.max(cw, 3);
    if (this.easel.size(s, cw)) {
      rows = null;
      const { canvas } = this.easel;
      const paper = $("paper");
      for (const e of [canvas, paper]) { e.style.width = `${canvas.width / dpr}px`; e.style.height = `${canvas.height / dpr}px`; }
      $("text").style.fontSize = `${fontSize(cw / dpr)}px`;
      $("text").style.lineHeight = `${this.easel.ch / dpr}px`;
    }
    $("paper").hidden = false;
    $("paper").style.background = s.bg;
    this.easel.paint(s, rows);
    this.#words();
  }

  // words keeps the text over the picture, to be selected and read aloud. It
  // follows a little later: it is costly, and nobody selects in a flood.
  #words() {
    if (this.wordsDue) return;
    this.wordsDue = setTimeout(() => {
      this.wordsDue = 0;
      const s = this.shown, box = $("text");
      if (!s || (!getSelection().isCollapsed && box.contains(getSelection().anchorNode))) return;
      while (box.children.length > s.rows) box.lastChild.remove();
      for (let y = 0; y < s.rows; y++) {
        const line = box.children[y] ?? box.appendChild(el("div"));
        const text = s.text(y) || "\u200b";
        if (line.textContent !== text) line.textContent = text;
      }
      this.#compare();
    }, 200);
  }

  #blink() {
    const s = this.shown;
    if (!s?.blinks || matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    this.easel.blinkOff = !this.easel.blinkOff;
    this.easel.paint(s, s.lines.flatMap((l, y) => (l.blinks ? [y] : [])));
  }

  zoom() {
    this.#full = !this.#full;
    $("zoom").textContent = this.#full ? "Full size" : "Fit";
    $("screen").classList.toggle("full", this.#full);
    this.#draw();
  }

  // follow reads the timeline again and again, at rest seldom, and never for
  // more than a tenth of the time.
  async #follow(poll) {
    const { base } = this;
    while (poll === this.#poll) {
      const begun = performance.now();
      try {
        const line = await ask(`${base}/timeline`);
        if (poll !== this.#poll) return;
        this.timeline.show(line);
        this.cells.show(line.cells, this.timeline.at);
        this.#moment();
      } catch (err) {
        if (poll === this.#poll) this.#say(err.message);
      }
      if (poll === this.#poll && !isActive(this.session) && this.timeline.line) return;
      await new Promise((done) => setTimeout(done, Math.max(1000, 10 * (performance.now() - begun))));
    }
  }

  // seek shows a moment; far says that it was gone to at once.
  seek(ns, far = false) {
    this.#playing = 0;
    if (far) leap();
    this.#go(ns);
  }

  // at is the moment that is shown, or will be; null for the newest.
  get at() { return this.#due ?? this.timeline.at; }

  // go shows the moment of an address, once there is something to show, and what
  // is searched for.
  go(ns, find = "") {
    this.#due = this.session ? null : ns;
    if (this.session) this.hits.find(find ? this.base : "", find);
    if (!this.session || ns === this.timeline.at) return;
    if (ns === null) this.newest();
    else this.seek(ns);
  }

  #go(ns) {
    const at = Math.max(this.timeline.line?.first.elapsed_ns ?? 0, Math.round(ns));
    this.timeline.move(at);
    this.#load(`at?t=${at}`, at);
  }

  step(direction) {
    this.#playing = 0;
    const from = this.shown;
    if (!from) return;
    this.#load(`step?seq=${from.seq}&t=${from.t}&dir=${direction}`);
  }

  // load shows an earlier moment. Of many that are asked for at once, only
  // the last is fetched.
  #load(what, at) {
    const { id } = this.session, { base } = this, asked = this.#asked;
    const wanted = () => this.session?.id === id && asked === this.#asked;
    return new Promise((done) => {
      this.#latest.run(async () => {
        try {
          const p = wanted() ? await ask(`${base}/${what}`) : null;
          if (p && wanted()) this.#show(p, at);
        } catch (err) {
          if (wanted()) this.#say(err.message);
        }
        done();
      });
    });
  }

  #show(p, at = p.t) {
    this.past = new Screen();
    this.past.apply(p);
    this.past.at = at;
    this.#say(p.missing?.join("; "));
    this.timeline.move(at);
    this.cells.move(at);
    this.#draw();
    this.#moment();
    this.#links();
    this.describe(...this.described);
  }

  newest() {
    this.#playing = 0;
    this.#asked++;
    if (!this.session) return;
    this.past = null;
    this.timeline.move(null);
    this.cells.move(null);
    this.#say("");
    this.#draw();
    this.#moment();
    this.#links();
  }

  begin() { this.seek(0); }

  jump(part) { this.seek(Math.min(this.timeline.last, (this.timeline.at ?? this.timeline.last) + part * this.timeline.last)); }

  nextCell(direction) {
    const at = this.timeline.at ?? Infinity;
    const cells = this.timeline.line?.cells ?? [];
    const found = direction < 0 ? cells.findLast((c) => c.start.elapsed_ns < at - 1e6) : cells.find((c) => c.start.elapsed_ns > at + 1e6);
    if (found) this.seek(found.start.elapsed_ns, true);
    else if (direction > 0) this.newest();
  }

  // play goes on from the shown moment, or from the beginning.
  async play() {
    if (this.#playing) { this.#playing = 0; this.#moment(); return; }
    const mine = this.#playing = Math.random();
    let at = this.timeline.at ?? 0;
    let then = performance.now();
    this.#moment();
    while (mine === this.#playing && at < this.timeline.last) {
      const now = performance.now();
      at = Math.min(this.timeline.last, at + (now - then) * 1e6 * speeds[this.#speed]);
      then = now;
      this.timeline.move(at);
      await this.#load(`at?t=${Math.round(at)}`, at);
      await new Promise(requestAnimationFrame);
    }
    if (mine === this.#playing) this.newest();
  }

  // name says for those who do not see it which screen this is.
  #name(when) {
    const s = this.session, shown = this.shown;
    const size = shown ? `, ${shown.cols} columns, ${shown.rows} rows` : "";
    $("screen").setAttribute("aria-label", s ? `Screen of ${s.title ?? shortName(s)}${size}${when || (isActive(s) ? ", live" : ", as it ended")}` : "No screen");
  }

  #moment() {
    const at = this.timeline.at, live = at === null, line = this.timeline.line;
    document.body.dataset.time = live ? "now" : "past";
    $("play").dataset.playing = this.#playing !== 0;
    const shown = live ? this.timeline.end : at;
    $("moment").textContent = line ? `${clock(shown)}${live ? "" : ` · ${wall(this.timeline.start, at)}`}` : "";
    this.moved(live ? null : at, live || !line ? null : this.timeline.start + at / 1e6);
    $("now").setAttribute("aria-pressed", live);
    this.#name(live ? "" : `, at ${line ? wall(this.timeline.start, at) : clock(at)}`);
    $("now").lastChild.textContent = this.session && !isActive(this.session) ? "End" : "Live";
  }
}

// quoted is a word for a shell.
function quoted(word) { return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`; }
