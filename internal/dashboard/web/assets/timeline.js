// The timeline: how much was printed when, cells, marks and resizes, and a
// head that can be dragged.

import { $, clock, span, wall } from "./words.js";

const lanes = { activity: [4, 30], cells: [36, 10], labels: [62] }; // from, height
const height = 66;

export class Timeline {
  line = null;
  at = null; // the moment that is shown, or null: the newest

  // seek takes a moment in nanoseconds.
  constructor(seek) {
    this.seek = seek;
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

  move(at) {
    this.at = at;
    this.draw();
  }

  #x(ns) { return this.last ? (ns / this.last) * (this.width - 1) : this.width - 1; }

  #pointer() {
    const moment = (e) => {
      const r = this.root.getBoundingClientRect();
      return Math.max(0, Math.min(1, (e.clientX - r.left) / r.width)) * this.last;
    };
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

  // near is the mark under the pointer, or undefined.
  #near(e) {
    const x = e.clientX - this.root.getBoundingClientRect().left;
    return this.line.marks.find((m) => Math.abs(this.#x(m.elapsed_ns) - x) < 6);
  }

  #tip(e, ns) {
    const tip = $("tip");
    const mark = this.#near(e);
    const cell = this.line.cells.findLast((c) => c.start.elapsed_ns <= ns && ns <= c.start.elapsed_ns + c.took_ns);
    tip.replaceChildren();
    tip.append(`${clock(ns)} · ${wall(this.start, ns)}`);
    if (mark) tip.append(document.createElement("br"), `◆ ${mark.label}`);
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
    if (this.canvas.width !== Math.round(box * dpr)) this.canvas.width = Math.round(box * dpr);
    if (this.canvas.height !== Math.round(height * dpr)) this.canvas.height = Math.round(height * dpr);
    const style = getComputedStyle(this.root);
    this.colors = (name) => style.getPropertyValue(`--${name}`).trim();
    this.ctx.setTransform(dpr, 0, 0, dpr, 0, 0);
    this.ctx.clearRect(0, 0, box, height);
    this.#activity();
    this.#cells();
    this.#labels();
    this.#marks();
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
    const { ctx } = this;
    const [base] = lanes.labels;
    ctx.font = "11px ui-sans-serif, system-ui, sans-serif";
    ctx.fillStyle = this.colors("quiet");
    const n = Math.max(1, Math.floor(this.width / 150));
    let shown = "";
    for (let i = 0; i <= n; i++) {
      const text = clock((this.last * i) / n, this.last < 1e9 ? 3 : this.last < 2e10 ? 2 : 1);
      if (text === shown) continue; // a log of less than a few milliseconds
      shown = text;
      ctx.textAlign = i === 0 ? "left" : i === n ? "right" : "center";
      ctx.fillText(text, (this.width * i) / n, base);
    }
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
    const x = Math.max(1, Math.min(this.width - 1, this.#x(this.at ?? this.last)));
    ctx.fillStyle = this.colors(this.at === null ? "accent" : "mark");
    ctx.fillRect(x - 1, 0, 2, 50);
    ctx.beginPath();
    ctx.arc(Math.max(4, Math.min(this.width - 4, x)), 4, 4, 0, 7);
    ctx.fill();
    this.root.setAttribute("aria-valuemax", Math.round(this.last / 1e6));
    this.root.setAttribute("aria-valuenow", Math.round((this.at ?? this.last) / 1e6));
    this.root.setAttribute("aria-valuetext", `${clock(this.at ?? this.last)} of ${clock(this.last)}`);
  }
}

// cellTone is the colour of a cell: running, well, or not.
export function cellTone(c) {
  if (!c.end?.seq) return c.waiting_for ? "waiting" : "busy";
  return c.status === "error" || c.exit_code ? "bad" : "good";
}
