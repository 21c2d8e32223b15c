// One agent that sleeps and wakes: what it does, and its ticks on a timeline.

import { tickAddress, tickCauses, tickEnd, tickTone, tickTook } from "./ticks.js";
import { ask } from "./wire.js";
import { age, el } from "./words.js";

const tones = { ticking: "busy", waking: "busy", asleep: "good", resting: "bad", paused: "waiting", idle: "over", "cut off": "mark", unknown: "bad", missing: "bad" };

const hour = 3600e3;
const minute = 60e3;
const steps = [minute, 2 * minute, 5 * minute, 10 * minute, 15 * minute, 30 * minute, hour, 2 * hour, 3 * hour, 6 * hour, 12 * hour, 24 * hour, 48 * hour, 168 * hour, 720 * hour];
const ranges = [["fit", "Fit"], [hour, "1 h"], [12 * hour, "12 h"], [72 * hour, "3 d"]];
const fitted = 60; // ticks that "Fit" shows
const page = 500; // ticks that are asked for at once
const some = 30; // that are asked for again when something has changed
const lane = { top: 8, tall: 28 };
const height = 58;
const least = 3; // pixels of a bar
const near = 7; // pixels beside a bar that count as on it

// Night is one agent.
export class Night {
  #ticks = new Map(); // by number
  #order = []; // the same, by time
  #before = 0; // where older ones begin; 0: there are none
  #range = "fit";
  #shift = 0; // windows back from the newest
  #chosen = null; // the number of the tick that the keyboard is on
  #asked = ""; // the state for which ticks were asked
  #busy = false;

  constructor(name, now) {
    this.name = name;
    this.now = now;
    this.dot = el("i.dot");
    this.state = el("span.state");
    this.why = el("span.why");
    this.count = el("span.count");
    this.next = el("span.next");
    this.waits = el("ul.pending");
    this.canvas = el("canvas");
    this.tip = el("div.tip", { hidden: true });
    this.days = el("div.days", { tabIndex: 0, role: "slider", "aria-label": `Ticks of ${name}`, "aria-valuemin": 1 }, this.canvas, this.tip);
    this.buttons = ranges.map(([r, text]) => el("button", { type: "button", textContent: text, onclick: () => this.#show(r, 0) }));
    this.back = el("button", { type: "button", textContent: "‹", title: "Earlier", "aria-label": "Earlier", onclick: () => this.#show(this.#range, this.#shift + 0.8) });
    this.on = el("button", { type: "button", textContent: "›", title: "Later", "aria-label": "Later", onclick: () => this.#show(this.#range, Math.max(0, this.#shift - 0.8)) });
    this.note = el("p.problem", { hidden: true });
    this.root = el("article.night", { "data-name": name },
      el("header", {}, this.dot, el("b", { textContent: name }), this.state, this.why, this.count, this.next,
        el("div.segments", { role: "group", "aria-label": "Which time" }, ...this.buttons), el("div.segments", {}, this.back, this.on)),
      this.days, this.waits, this.note);
    this.ctx = this.canvas.getContext("2d");
    new ResizeObserver(() => this.draw()).observe(this.days);
    addEventListener("themechange", () => this.draw());
    this.#pointer();
    this.#keys();
    this.#pressed();
  }

  describe(a) {
    this.agent = a;
    const tone = tones[a.state] ?? "over";
    this.dot.dataset.tone = tone;
    this.state.dataset.tone = tone;
    this.why.textContent = a.doing ?? a.why;
    this.why.title = a.why;
    this.count.textContent = a.tick ? `${a.tick} ${a.tick === 1 ? "tick" : "ticks"}` : "no tick yet";
    this.#times();
    const pending = (a.waiting ?? []).map((c) => el("li", { textContent: c.reason ? `${c.kind}: ${c.reason}` : c.kind, title: c.reason ?? "" }));
    this.waits.hidden = !pending.length;
    this.waits.replaceChildren(...(pending.length ? [el("li.label", { textContent: a.state === "ticking" ? "told to this tick, or waiting" : "waiting" }), ...pending] : []));
    this.#say(a.problem ?? "");
    const asked = `${a.tick} ${a.state}`;
    if (asked !== this.#asked && a.state !== "missing") {
      const missed = this.#ticks.size ? a.tick - Math.max(...this.#ticks.keys()) : page;
      this.#asked = asked;
      this.#load(0, Math.min(page, Math.max(some, missed + 1)));
    }
    this.draw();
  }

  // times says how long a pause lasts, and when the next wake comes.
  #times() {
    const { state, paused_since: since } = this.agent;
    this.state.textContent = state === "paused" && since ? `paused for ${age((this.now() - Date.parse(since)) * 1e6)}` : state;
    const w = this.agent.wakes?.[0];
    this.next.hidden = !w;
    if (!w) return;
    const at = Date.parse(w.at), left = at - this.now();
    this.next.textContent = `next wake ${new Date(at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hour12: false })}${left > 0 ? ` · in ${age(left * 1e6)}` : ""}`;
    this.next.title = [w.reason, ...(this.agent.wakes.length > 1 ? [`${this.agent.wakes.length} wakes are scheduled`] : [])].filter(Boolean).join(" · ");
  }

  #say(text) {
    this.note.hidden = !text;
    this.note.textContent = text;
  }

  async #load(before, n) {
    if (this.#busy) { this.#asked = ""; return; } // it is asked for again
    this.#busy = true;
    try {
      const p = await ask(`/api/kernel/${encodeURIComponent(this.name)}/ticks?n=${n}${before ? `&before=${before}` : ""}`);
      const known = this.#ticks.size;
      for (const t of p.ticks) this.#ticks.set(t.tick, { ...t, from: Date.parse(t.began ?? ""), to: Date.parse(t.until ?? "") });
      const oldest = p.ticks.at(-1)?.tick ?? 0;
      if (!known || before || oldest <= Math.min(...this.#ticks.keys())) this.#before = p.before ?? 0;
      this.#order = [...this.#ticks.values()].filter((t) => t.began).sort((a, b) => a.from - b.from);
      this.#say(this.agent.problem ?? "");
    } catch (err) {
      this.#say(err.message);
    }
    this.#busy = false;
    if (!this.#asked) this.describe(this.agent);
    this.draw();
  }

  #show(range, shift) {
    this.#range = range;
    this.#shift = shift;
    this.#pressed();
    const [from] = this.window();
    const first = this.#order[0];
    if (this.#before && (!first || first.from > from)) this.#load(this.#before, page);
    this.draw();
  }

  #pressed() {
    ranges.forEach(([r], i) => this.buttons[i].setAttribute("aria-pressed", r === this.#range));
    this.on.disabled = this.#shift === 0;
    this.back.disabled = !this.#order.length;
  }

  until(t) { return t.state === "running" ? this.now() : t.to || t.from; }

  // window is the time that is shown, in milliseconds.
  window() {
    const now = this.now();
    let width = this.#range, end = now;
    if (this.#range === "fit") {
      const newest = this.#order.slice(-fitted);
      const first = newest.length ? newest[0].from : now - hour;
      const last = newest.length ? this.until(newest.at(-1)) : now;
      // Long after the last tick that is not shown: ticks would be too narrow.
      end = now - last > 3 * Math.max(last - first, hour / 6) ? last : now;
      width = Math.max(hour / 6, end - first);
    }
    const margin = width * 0.05;
    const to = end + margin - this.#shift * width;
    return [to - width - 2 * margin, to];
  }

  #x(ms) { return ((ms - this.from) / (this.to - this.from)) * this.width; }

  tick() {
    if (!this.agent) return;
    this.#times();
    if (this.agent.state === "ticking" || !this.#shift) this.draw();
  }

  draw() {
    const box = this.days.clientWidth;
    if (!box || !this.agent) return;
    const dpr = devicePixelRatio;
    this.width = box;
    if (this.canvas.width !== Math.round(box * dpr)) this.canvas.width = Math.round(box * dpr);
    if (this.canvas.height !== Math.round(height * dpr)) this.canvas.height = Math.round(height * dpr);
    const style = getComputedStyle(this.days);
    const colors = {};
    this.color = (name) => colors[name] ??= style.getPropertyValue(`--${name}`).trim();
    [this.from, this.to] = this.window();
    this.ctx.setTransform(dpr, 0, 0, dpr, 0, 0);
    this.ctx.clearRect(0, 0, box, height);
    this.#lane();
    this.#bars();
    this.#wakes();
    this.#labels();
    this.#pressed();
    this.#aria();
  }

  #lane() {
    const { ctx } = this;
    ctx.fillStyle = this.color("lane");
    ctx.beginPath();
    ctx.roundRect(0, lane.top, this.width, lane.tall, 5);
    ctx.fill();
    ctx.save();
    ctx.clip();
    // Nothing is known of what was before the first tick that is known of.
    const first = this.#order[0];
    if (first && !this.#before) this.#hatch(-1, this.#x(first.from), "faint", 0.22);
    if (this.agent.paused_since) this.#hatch(this.#x(Date.parse(this.agent.paused_since)), this.#x(this.now()), "waiting", 0.5);
    ctx.restore();
  }

  #hatch(from, to, color, alpha) {
    const { ctx } = this;
    from = Math.max(-1, from);
    to = Math.min(this.width, to);
    if (to <= from) return;
    ctx.save();
    ctx.beginPath();
    ctx.rect(from, lane.top, to - from, lane.tall);
    ctx.clip();
    ctx.strokeStyle = this.color(color);
    ctx.globalAlpha = alpha;
    ctx.lineWidth = 1.5;
    ctx.beginPath();
    for (let x = from - lane.tall; x < to; x += 7) {
      ctx.moveTo(x, lane.top + lane.tall);
      ctx.lineTo(x + lane.tall, lane.top);
    }
    ctx.stroke();
    ctx.restore();
  }

  // bars draws what went wrong last, so that it shows where bars are dense.
  #bars() {
    const shown = this.#order.filter((t) => this.until(t) >= this.from && t.from <= this.to);
    for (const bad of [false, true]) for (const t of shown) if ((tickTone(t) !== "good") === bad) this.#bar(t);
    const chosen = this.#ticks.get(this.#chosen);
    if (chosen) this.#ring(chosen);
  }

  #place(t) {
    const x = this.#x(t.from);
    return [x, Math.max(least, this.#x(this.until(t)) - x)];
  }

  #bar(t) {
    const { ctx } = this;
    const [x, w] = this.#place(t);
    ctx.fillStyle = this.color(tickTone(t));
    ctx.beginPath();
    ctx.roundRect(x, lane.top + 3, w, lane.tall - 6, Math.min(3, w / 2));
    ctx.fill();
    if (!t.open || t.state === "running") return;
    // Its end is not known: it fades out.
    for (let i = 0; i < 6; i++) {
      ctx.globalAlpha = 0.75 - i / 8;
      ctx.fillRect(x + w + 2 * i, lane.top + 3, 1.5, lane.tall - 6);
    }
    ctx.globalAlpha = 1;
  }

  #ring(t) {
    const { ctx } = this;
    const [x, w] = this.#place(t);
    ctx.strokeStyle = this.color("text");
    ctx.lineWidth = 1.5;
    ctx.beginPath();
    ctx.roundRect(x - 2, lane.top + 0.5, w + 4, lane.tall - 1, 4);
    ctx.stroke();
  }

  #wakes() {
    const { ctx } = this;
    const now = this.#x(this.now());
    if (now >= 0 && now <= this.width) {
      ctx.fillStyle = this.color("accent");
      ctx.fillRect(now - 0.75, lane.top - 3, 1.5, lane.tall + 6);
    }
    if (this.#shift) return;
    ctx.fillStyle = this.color("accent");
    for (const w of this.agent.wakes ?? []) {
      const x = Math.min(this.#x(Date.parse(w.at)), this.width - 6), y = lane.top + lane.tall / 2; // one that is far away is at the edge
      ctx.beginPath();
      ctx.moveTo(x, y - 5.5);
      ctx.lineTo(x + 5.5, y);
      ctx.lineTo(x, y + 5.5);
      ctx.lineTo(x - 5.5, y);
      ctx.fill();
    }
  }

  #labels() {
    const { ctx } = this;
    ctx.font = "11px ui-sans-serif, system-ui, sans-serif";
    ctx.fillStyle = this.color("quiet");
    const width = this.to - this.from;
    const step = steps.find((s) => (s / width) * this.width >= 90) ?? steps.at(-1);
    const zone = new Date(this.from).getTimezoneOffset() * 60e3;
    for (let at = Math.ceil((this.from - zone) / step) * step + zone; at < this.to; at += step) {
      const x = this.#x(at), d = new Date(at);
      const text = step >= 24 * hour || (d.getHours() === 0 && d.getMinutes() === 0)
        ? d.toLocaleDateString([], { day: "numeric", month: "short" }) : d.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hour12: false });
      if (x < 18 || x > this.width - 18) continue;
      ctx.textAlign = "center";
      ctx.fillText(text, x, height - 4);
      ctx.fillRect(Math.round(x), lane.top + lane.tall, 1, 4);
    }
  }

  // at is the tick under a place, or undefined: of several the shortest.
  #at(x) {
    let best, size = Infinity;
    for (const t of this.#order) {
      const [from, w] = this.#place(t);
      const off = x < from ? from - x : Math.max(0, x - from - w);
      if (off > near) continue;
      const s = off * 1000 + w;
      if (s < size) [best, size] = [t, s];
    }
    return best;
  }

  #pointer() {
    const find = (e) => this.#at(e.clientX - this.days.getBoundingClientRect().left);
    this.days.addEventListener("pointermove", (e) => {
      const t = this.width ? find(e) : undefined;
      this.days.classList.toggle("on", Boolean(t));
      this.tip.hidden = !t;
      if (t) this.#tip(t, e.clientX - this.days.getBoundingClientRect().left);
    });
    this.days.addEventListener("pointerleave", () => { this.tip.hidden = true; });
    this.days.addEventListener("click", (e) => {
      const t = find(e);
      if (t) location.hash = tickAddress(this.name, t.tick);
    });
  }

  #tip(t, x) {
    const lines = [`tick ${t.tick} · ${tickEnd(t)} · ${tickTook(t, this.now())} · ${new Date(t.began).toLocaleTimeString([], { hour12: false })}`];
    const facts = [t.state === "ended" ? `${t.turns} ${t.turns === 1 ? "turn" : "turns"}` : "", t.cost_usd ? `$${t.cost_usd.toFixed(2)}` : "", t.runner, t.terminals ? `${t.terminals} ${t.terminals === 1 ? "terminal" : "terminals"}` : ""].filter(Boolean).join(" · ");
    for (const more of [facts, tickCauses(t), t.why || t.last]) if (more) lines.push(more);
    this.tip.replaceChildren(...lines.map((text, i) => el(i ? "div" : "b", { textContent: text.slice(0, 140) })));
    this.tip.style.left = `${Math.max(0, Math.min(this.width - this.tip.offsetWidth, x - this.tip.offsetWidth / 2))}px`;
  }

  #keys() {
    this.days.addEventListener("keydown", (e) => {
      const move = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[e.key];
      if (e.altKey || e.ctrlKey || e.metaKey || !this.#order.length) return;
      if (e.key === "Enter" && this.#chosen) location.hash = tickAddress(this.name, this.#chosen);
      else if (move === undefined) return;
      else this.#choose(move);
      e.preventDefault();
      e.stopPropagation();
    });
    this.days.addEventListener("blur", () => {
      this.tip.hidden = true;
      this.#chosen = null; // or the newest could not be told from it
      this.draw();
    });
  }

  // choose moves the keyboard's tick, and the window with it.
  #choose(by) {
    const all = this.#order;
    const i = all.findIndex((t) => t.tick === this.#chosen);
    const t = all[i < 0 ? all.length - 1 : Math.max(0, Math.min(all.length - 1, i + by))];
    this.#chosen = t.tick;
    const [from, to] = this.window(), width = (to - from) / 1.1;
    if (t.from < from || t.from > to) this.#show(this.#range, Math.max(0, this.#shift + (from + (to - from) / 2 - t.from) / width));
    this.draw();
    this.tip.hidden = false;
    this.#tip(t, this.#x(t.from));
  }

  #aria() {
    const t = this.#ticks.get(this.#chosen) ?? this.#order.at(-1);
    this.days.setAttribute("aria-valuemax", this.agent.tick || 1);
    this.days.setAttribute("aria-valuenow", t?.tick ?? 0);
    this.days.setAttribute("aria-valuetext", t ? `tick ${t.tick}, ${tickEnd(t)}, ${tickTook(t, this.now())}` : "no tick");
  }
}
