// One tick: its transcript beside the recordings of its terminals.

import { Transcript } from "./transcript.js";
import { tickAddress, tickCauses, tickEnd, tickTone, tickTook } from "./ticks.js";
import { $, el } from "./words.js";
import { ask } from "./wire.js";

const every = 2000; // milliseconds between two looks at a tick that runs

export class Tick {
  name = "";
  number = 0;
  terminal = ""; // the name of the one that is shown, or "": the first
  #tick = null;
  #opened = 0; // a number that each opening has for itself

  // o has the stage, session, which finds one by its id, show, which has den
  // send the screens of a session, and now, den's clock.
  constructor(o) {
    this.o = o;
    this.transcript = new Transcript((e) => this.#choose(e));
  }

  get base() { return `/api/kernel/${encodeURIComponent(this.name)}/ticks/${this.number}`; }

  open(name, number, terminal) {
    const same = name === this.name && number === this.number;
    if (same && terminal === this.terminal) return;
    Object.assign(this, { name, number, terminal });
    if (same) return this.#show();
    this.#tick = null;
    this.transcript.open(this.base);
    this.o.stage.none("");
    $("stage-name").textContent = `${name} · tick ${number}`;
    $("stage-what").textContent = "";
    $("facts").replaceChildren();
    $("terminals").hidden = true;
    this.#follow(++this.#opened);
  }

  close() {
    this.#opened++;
    Object.assign(this, { name: "", number: 0, terminal: "" });
    this.#tick = null;
    this.transcript.close();
    $("neighbours").hidden = $("terminals").hidden = true;
    delete document.body.dataset.terminals;
  }

  get title() { return `${this.name} tick ${this.number}`; }

  // follow reads the tick, and again as long as it runs.
  async #follow(opened) {
    for (;;) {
      let t = null;
      try {
        t = await ask(this.base);
      } catch (err) {
        if (opened !== this.#opened) return;
        this.o.stage.none(err.message);
      }
      if (opened !== this.#opened) return;
      if (t) this.#take(t);
      await this.transcript.catchUp(t?.transcript);
      if (opened !== this.#opened || t?.state !== "running") return;
      await new Promise((done) => setTimeout(done, every));
    }
  }

  // take shows what is new of the tick. The terminal that is shown stays, unless
  // its session became a recording.
  #take(t) {
    const was = this.#current(this.#tick);
    this.#tick = t;
    const is = this.#current(t);
    this.#neighbours();
    const listed = is && !is.recording && !this.o.stage.session && this.o.session(is.session); // den has seen it meanwhile
    if (!was || was.name !== is?.name || was.recording !== is?.recording || listed) this.#show();
    else this.#tabs();
    this.describe();
  }

  // current is the terminal that is shown of a tick, or undefined.
  #current(t) { return t?.terminals.find((x) => x.name === this.terminal) ?? (this.terminal === "" ? t?.terminals[0] : undefined); }

  #neighbours() {
    const link = (id, n, there) => {
      const a = $(id);
      a.toggleAttribute("data-off", !there);
      if (there) a.href = tickAddress(this.name, n); else a.removeAttribute("href");
    };
    $("neighbours").hidden = false;
    link("tick-before", this.number - 1, this.number > 1);
    link("tick-after", this.number + 1, this.number < this.#tick.last_tick);
  }

  // other goes to the tick before or after.
  other(direction) {
    const a = $(direction < 0 ? "tick-before" : "tick-after");
    if (a.hasAttribute("href")) location.hash = a.hash;
  }

  // next goes to the terminal before or after.
  next(direction) {
    const all = this.#tick?.terminals ?? [];
    const to = all[all.indexOf(this.#current(this.#tick)) + direction];
    if (to) location.hash = tickAddress(this.name, this.number, to.name);
  }

  #tabs() {
    const all = this.#tick?.terminals ?? [], current = this.#current(this.#tick);
    $("terminals").hidden = !all.length;
    $("terminals").replaceChildren(...all.map((x) => el("a", { href: tickAddress(this.name, this.number, x.name), title: `${x.command} · ${x.status ?? "open"}`, "aria-current": x === current ? "true" : "false" },
      el("i.dot", { "data-tone": terminalTone(x) }), el("b", { textContent: x.name }), el("span", { textContent: x.label || x.command }))));
    document.body.dataset.terminals = current ? "some" : "none";
    $("terminals").querySelector('[aria-current="true"]')?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  // show puts a terminal on the stage: its recording, or its session while it is
  // open.
  #show() {
    if (!this.#tick) return; // it comes
    this.#tabs();
    const x = this.#current(this.#tick);
    if (!x) {
      this.o.show("");
      this.o.stage.none(this.terminal === "" ? "No terminal was opened in this tick." : `This tick has no terminal ${this.terminal}.`);
      return this.describe();
    }
    const live = x.recording ? null : this.o.session(x.session);
    this.o.show(live?.id ?? "");
    if (!live && !x.recording) {
      this.o.stage.none(x.note || (x.archive ? "The archive of this terminal has no recording." : "The session of this terminal is not among those that den sees here."));
      return this.describe();
    }
    this.o.stage.open({ ...(live ?? this.#recording(x)), ...this.#facts() });
    this.transcript.move(null);
  }

  #recording(x) {
    return { id: `${this.name}/${this.number}/${x.name}`, base: `${this.base}/terminals/${x.name}`, session: this.title, status: "exited", command: [x.command], cols: 0, rows: 0, created: x.opened ?? this.#tick.began, ended: x.closed };
  }

  // facts are what the bar says of the tick.
  #facts() {
    const t = this.#tick;
    const facts = [["end", tickEnd(t)], ["began", t.began ? new Date(t.began).toLocaleString([], { dateStyle: "short", timeStyle: "medium" }) : "not known"], ["took", tickTook(t, this.o.now())]];
    if (t.state === "ended") facts.push(["turns", String(t.turns)]);
    if (t.cost_usd) facts.push(["cost", `$${t.cost_usd.toFixed(2)}`]);
    if (t.runner) facts.push(["by", t.model ? `${t.runner}, ${t.model}` : t.runner]);
    const what = [t.reconstructed ? "no index was written: this is what the transcript tells" : "", t.why, tickCauses(t)].filter(Boolean).join(" · ");
    return { title: `${this.name} · tick ${this.number}`, tone: tickTone(t), what, facts };
  }

  // describe says how the tick stands.
  describe() {
    if (!this.#tick) return;
    const { title, tone, what, facts } = this.#facts();
    if (this.o.stage.session) Object.assign(this.o.stage.session, { title, tone, what, facts });
    $("stage-name").textContent = title;
    $("stage-dot").dataset.tone = tone;
    $("stage-what").textContent = what;
    $("stage-what").title = what;
    $("facts").replaceChildren(...facts.map(([k, v]) => el("div", {}, el("dt", { textContent: k }), el("dd", { textContent: v }))));
    $("stage-agent").hidden = true;
  }

  // choose shows the terminals at the moment of an entry: the one that a tool was
  // used on, if it names one.
  #choose(e) {
    const at = Date.parse(e.at), current = this.#current(this.#tick);
    const meant = (this.#tick?.terminals ?? []).filter((x) => e.tty === undefined || x.tty === e.tty);
    let to = e.tty === undefined ? current : undefined, least = to ? apart(to, at) : Infinity;
    for (const x of meant) if (apart(x, at) < least) [to, least] = [x, apart(x, at)];
    if (!to) return;
    $("terminals").scrollIntoView({ block: "nearest" }); // on a narrow page it may be out of sight
    const since = Math.max(0, at - Date.parse(to.opened ?? e.at)); // milliseconds
    if (to === current) this.o.stage.seek(since * 1e6, true);
    else location.hash = `${tickAddress(this.name, this.number, to.name)}?t=${since / 1e3}`;
  }

  // moved marks what was said at the moment that the stage shows.
  moved(clock) { this.transcript.move(clock); }
}

// apart is how far a moment is from the time in which a terminal was open.
function apart(x, at) {
  const opened = Date.parse(x.opened ?? ""), closed = Date.parse(x.closed ?? "");
  return Math.max(0, opened - at || 0, at - closed || 0);
}

// terminalTone is the colour of how a program ended. Those of terminals that
// were closed ended by a signal, which is no failure.
function terminalTone(x) {
  if (!x.status) return x.archive || x.closed ? "mark" : "good";
  if (x.status === "lost") return "mark";
  const code = Number(/^exited \((\d+)\)$/.exec(x.status)?.[1] ?? 0);
  return code > 0 && code < 128 ? "bad" : "over";
}
