// The timeline, up to now: how much was printed when, cells, marks, resizes and
// what was searched for, and a head that can be dragged.

import { Scale, stepLabel } from "./scale.js";
import { $, clock, span, wall } from "./words.js";

const lanes = { activity: [4, 30], cells: [36, 10], labels: [62] }; // from, height
const height = 66;

export class Timeline {
  line = null;
  at = null; // the moment that is shown, or null: the newest
  hits = []; // moments that were searched for
  range = null; // from and to of what is chosen, or null

  // seek takes a moment in nanoseconds; now is how long the session has run, or
  // 0 if it is over.
  constructor(seek, now = () => 0) {
    this.seek = seek;
    this.now = now;
    this.root = $("line");
    this.canvas = $("timeline");
    this.ctx = this.canvas.getContext("2d");
    new ResizeObserver(() => this.draw()).observe(this.root);
    addEventListener("themechange", () => this.draw());
    this.#pointer();
  }

  show(line) {
    this.line = line;
    this.draw();
  }

  get start() { return Date.parse(this.line.start); }
  get last() { return this.line?.last.elapsed_ns ?? 0; }
  get end() { return this.line ? Math.max(this.last, this.now()) : 0; }

  move(at) {
    this.at = at;
    this.draw();
  }

  #x(ns) { return this.scale.x(ns); }

  #pointer() {
    const moment = (e) => this.scale.ns(e.clientX - this.root.getBoundingClientRect().left);
    this.root.addEventListener("pointerdown", (e) => {
      if (!this.line || e.button) return;
      this.root.setPointerCapture(e.pointerId);
      this.dragging = true;
      const mark = this.#near(e);
      this.seek(mark ? mark.elapsed_ns : moment(e), true);
    });
    this.root.addEventListener("pointermove", (e) => {
      if (!this.line) return;
      if (this.dragging) this.seek(moment(e));
      this.#tip(e, moment(e));
    });
    const end = () => { this.dragging = false; };
    this.root.addEventListener("pointerup", end);
    this.root.addEventListener("pointercancel", end);
    this.root.addEventListener("pointerleave", () => { $("tip").hidden = true; });
  }

  // near is the mark or the hit under the pointer, or undefined.
  #near(e) {
    const x = e.clientX - this.root.getBoundingClientRect().left;
    const near = (m) => Math.abs(this.#x(m.elapsed_ns) - x) < 6;
    return this.hits.find(near) ?? this.line.marks.find(near);
  }

  #tip(e, ns) {
    const tip = $("tip");
    const mark = this.#near(e);
    const cell = this.line.cells.findLast((c) => c.start.elapsed_ns <= ns && ns <= c.start.elapsed_ns + c.took_ns);
    tip.replaceChildren();
    tip.append(`${clock(ns)} · ${wall(this.start, ns)}`);
    if (mark) tip.append(document.createElement("br"), mark.label ? `◆ ${mark.label}` : mark.line);
    if (cell) {
      const code = document.createElement("code");
      code.textContent = cell.code.split("\n")[0].slice(0, 80);
      tip.append(document.createElement("br"), code, ` ${span(cell.took_ns)}`);
    }
    tip.hidden = false;
    const r = this.root.getBoundingClientRect();
    const x = e.clientX - r.left;
    tip.style.left = `${Math.max(0, Math.min(r.width - tip.offsetWidth, x - tip.offsetWidth / 2))}px`;
  }

  draw() {
    const box = this.root.clientWidth;
    if (!box || !this.line) return;
    const dpr = devicePixelRatio;
    this.width = box;
    this.scale = new Scale(this.last, this.end, box - 1);
    if (this.canvas.width !== Math.round(box * dpr)) this.canvas.width = Math.round(box * dpr);
    if (this.canvas.height !== Math.round(height * dpr)) this.canvas.height = Math.round(height * dpr);
    const style = getComputedStyle(this.root);
    this.colors = (name) => style.getPropertyValue(`--${name}`).trim();
    this.ctx.setTransform(dpr, 0, 0, dpr, 0, 0);
    this.ctx.clearRect(0, 0, box, height);
    this.#activity();
    this.#cells();
    this.#labels();
    this.#range();
    this.#marks();
    this.#hits();
    this.#head();
  }

  #activity() {
    const { step_ns: step, bytes } = this.line.activity;
    const [top, tall] = lanes.activity;
    const { ctx } = this;
    ctx.fillStyle = this.colors("lane");
    ctx.fillRect(0, top, this.width, tall);
    if (!bytes?.length) return;
    const most = Math.log1p(Math.max(...bytes));
    ctx.fillStyle = this.colors("activity");
    bytes.forEach((n, i) => {
      if (!n) return;
      const x = this.#x(i * step), w = Math.max(1, this.#x((i + 1) * step) - x - 0.5);
      const h = Math.max(1.5, (Math.log1p(n) / most) * (tall - 2));
      ctx.fillRect(x, top + tall - h, Math.min(w, this.width - x), h);
    });
    ctx.fillStyle = this.colors("faint");
    for (const r of this.line.resizes) ctx.fillRect(Math.round(this.#x(r.elapsed_ns)), top, 1, tall);
  }

  #cells() {
    const { ctx } = this;
    const [top, tall] = lanes.cells;
    ctx.fillStyle = this.colors("lane");
    ctx.fillRect(0, top, this.width, tall);
    for (const c of this.line.cells) {
      const x = this.#x(c.start.elapsed_ns), w = Math.max(3, this.#x(c.start.elapsed_ns + c.took_ns) - x - 1);
      ctx.fillStyle = this.colors(cellTone(c));
      ctx.beginPath();
      ctx.roundRect(x, top, w, tall, Math.min(3, w / 2));
      ctx.fill();
    }
  }

  #labels() {
    const { ctx, scale } = this, [base] = lanes.labels, [top, tall] = lanes.activity;
    ctx.font = "11px ui-sans-serif, system-ui, sans-serif";
    const end = this.now() ? "now" : clock(this.end, this.end < 1e10 ? 2 : 0);
    const room = this.width - ctx.measureText(end).width - 12;
    const { step, at } = scale.ticks(72);
    const said = [];
    let free = 0; // from here on there is room for words
    for (const ns of at) {
      const x = scale.x(ns), text = stepLabel(ns, step), wide = ctx.measureText(text).width;
      ctx.fillStyle = this.colors("faint");
      ctx.fillRect(Math.round(x), top + tall, 1, 3);
      const from = Math.max(0, x - wide / 2);
      if (from < free || from + wide > room) continue;
      ctx.fillStyle = this.colors("quiet");
      ctx.fillText(text, from, base);
      free = from + wide + 8;
      said.push(text);
    }
    ctx.fillStyle = this.colors("quiet");
    ctx.textAlign = "right";
    ctx.fillText(end, this.width, base);
    ctx.textAlign = "left";
    if (scale.folded) this.#silence(free, room, base);
    this.root.dataset.labels = [...said, end].join(" ");
  }

  // silence is the time since the last output, drawn short.
  #silence(free, room, base) {
    const { ctx, scale } = this, [top, tall] = lanes.activity, from = scale.x(this.last);
    ctx.fillStyle = this.colors("faint");
    for (let x = from + 4; x < this.width; x += 6) ctx.fillRect(x, top + tall / 2, 2, 1);
    const text = `quiet for ${span(this.end - this.last)}`, wide = ctx.measureText(text).width;
    if (Math.max(free, from) + wide > room) return;
    ctx.fillStyle = this.colors("quiet");
    ctx.fillText(text, Math.max(free, from), base);
  }

  // range is what is chosen, to be compared or exported.
  #range() {
    if (!this.range) return;
    const [from, to] = this.range.map((ns) => this.#x(ns));
    this.ctx.fillStyle = this.colors("mark");
    this.ctx.globalAlpha = 0.2;
    this.ctx.fillRect(from, 0, Math.max(2, to - from), 50);
    this.ctx.globalAlpha = 1;
  }

  #hits() {
    const { ctx } = this, [top, tall] = lanes.activity;
    ctx.fillStyle = this.colors("accent");
    for (const hit of this.hits) ctx.fillRect(Math.round(this.#x(hit.elapsed_ns)) - 1, top, 2, tall);
  }

  #marks() {
    const { ctx } = this;
    const [top, tall] = lanes.activity;
    ctx.fillStyle = this.colors("note");
    for (const m of this.line.marks) {
      const x = this.#x(m.elapsed_ns);
      ctx.fillRect(x - 0.5, top, 1, tall);
      ctx.beginPath();
      ctx.moveTo(x, top - 4);
      ctx.lineTo(x + 4.5, top + 1);
      ctx.lineTo(x, top + 6);
      ctx.lineTo(x - 4.5, top + 1);
      ctx.fill();
    }
  }

  #head() {
    const { ctx } = this;
    const x = Math.max(1, Math.min(this.width - 1, this.#x(this.at ?? this.end)));
    ctx.fillStyle = this.colors(this.at === null ? "accent" : "mark");
    ctx.fillRect(x - 1, 0, 2, 50);
    ctx.beginPath();
    ctx.arc(Math.max(4, Math.min(this.width - 4, x)), 4, 4, 0, 7);
    ctx.fill();
    this.root.setAttribute("aria-valuemax", Math.round(this.end / 1e6));
    this.root.setAttribute("aria-valuenow", Math.round((this.at ?? this.end) / 1e6));
    this.root.setAttribute("aria-valuetext", `${clock(this.at ?? this.end)} of ${clock(this.end)}`);
  }
}

// cellTone is the colour of a cell: running, well, or not.
export function cellTone(c) {
  if (!c.end?.seq) return c.waiting_for ? "waiting" : "busy";
  return c.status === "error" || c.exit_code ? "bad" : "good";
}
