// The conversation of an agent that den drives by its protocol: who asked what,
// what the agent thought, said and used, what it asked for, and how each turn
// ended.

import { change } from "./address.js";
import { isAtEnd, stayAtEnd } from "./bottom.js";
import { ask, send } from "./wire.js";
import { $, el, span, visible } from "./words.js";

const every = 1000; // milliseconds between two looks for what is new
const long = { lines: 12, characters: 1200 }; // texts beyond it are folded

export const talkAddress = (name) => `#/talk/${encodeURIComponent(name)}`;

const clock = (at) => new Date(at).toLocaleTimeString([], { hour12: false });
const day = (at) => new Date(at).toLocaleDateString([], { weekday: "long", day: "numeric", month: "long" });

// origin says where a prompt comes from.
function origin(from = {}) {
  const who = from.who || "";
  switch (from.kind) {
    case "channel": return `${who} in ${from.where}`;
    case "direct": return `${who}, in private`;
    case "ask": return who ? `${who} asks` : "you ask (den agent ask)";
    case "nudge": return "a message";
    case "screen": return "typed on its terminal";
    case "supervisor": return "its supervisor";
    case "start": return "its first prompt";
  }
  return "den";
}

export class Talk {
  name = "";
  #opened = 0; // a number that each opening has for itself
  #state = "";
  #first = 0; // numbers of the entries that are shown
  #last = 0;
  #at = 0; // of the entry that is gone to; 0: it follows the newest
  #uses = new Map(); // uses of tools by their ids: results go below them
  #asked = new Map(); // requests by their ids: decisions go below them

  // agent and session find those of a name, or null.
  constructor(agent, session) {
    this.agent = agent;
    this.session = session;
    this.may = false;
    $("talk-more").onclick = () => this.#older();
    stayAtEnd($("talk-box"));
    $("talk-form").onsubmit = (e) => { e.preventDefault(); this.#message(); };
    $("talk-text").onkeydown = (e) => { if (e.key === "Enter" && !e.shiftKey && !e.isComposing) { e.preventDefault(); this.#message(); } };
  }

  allow(may) {
    this.may = may;
    if (this.name) this.#describe();
  }

  // open shows the conversation of an agent, at an entry or, with 0, the newest.
  open(name, n) {
    if (name === this.name) return this.#describe();
    this.close();
    this.name = name;
    this.#at = n;
    $("talk").hidden = false;
    $("talk-name").textContent = name;
    this.#describe();
    this.#follow(++this.#opened);
    $("talk-box").focus({ preventScroll: true });
  }

  close() {
    this.#opened++;
    this.name = this.#state = "";
    this.#first = this.#last = this.#at = 0;
    this.#uses.clear();
    this.#asked.clear();
    $("talk").hidden = true;
    $("turns").replaceChildren();
    $("talk-more").hidden = $("talk-note").hidden = true;
  }

  #describe() {
    const a = this.agent(this.name), s = a ? this.session(a.session) : null;
    $("talk-what").textContent = a ? [a.state || a.actual, a.state_why, a.question?.text].filter(Boolean).join(" · ") : "";
    $("talk-answer").hidden = a?.attention?.state !== "asking";
    $("talk-screen").hidden = !s;
    if (s) $("talk-screen").href = `#/${s.id}`;
    $("talk-form").hidden = !this.may || !a;
  }

  async #follow(opened) {
    while (opened === this.#opened) {
      if (!document.hidden) await this.#newer(opened);
      await new Promise((done) => setTimeout(done, every));
    }
  }

  #ask(query) { return ask(`/api/turns?${new URLSearchParams({ agent: this.name, ...query })}`); }

  async #newer(opened) {
    try {
      const from = this.#last ? { after: this.#last } : this.#at ? { before: this.#at + 100 } : {};
      const part = await this.#ask({ ...from, state: this.#state });
      if (opened !== this.#opened) return;
      this.#say("");
      const first = !this.#last, box = $("talk-box");
      const below = !this.#at && (first || isAtEnd(box));
      if (part.state !== this.#state || first) this.#add(part.entries);
      if (!from.before) this.#state = part.state;
      if (first) {
        $("talk-more").hidden = !part.more;
        if (this.#at) this.go(this.#at);
      }
      if (below) box.scrollTop = box.scrollHeight;
      if (!this.#last) this.#say("Nothing was said yet.");
    } catch (err) {
      if (opened === this.#opened) this.#say(err.message);
    }
  }

  // older puts what came before above what is shown. All is drawn anew: results
  // may belong to uses that come with it.
  async #older() {
    const opened = this.#opened, box = $("talk-box");
    const part = await this.#ask({ before: this.#first }).catch((err) => { this.#say(err.message); return null; });
    if (!part || opened !== this.#opened) return;
    const tall = box.scrollHeight, shown = [...$("turns").children];
    $("turns").replaceChildren();
    const last = this.#last;
    this.#add(part.entries);
    $("turns").append(...shown);
    this.#last = last;
    this.#days();
    $("talk-more").hidden = !part.more;
    box.scrollTop += box.scrollHeight - tall;
  }

  #add(entries) {
    for (const e of entries) {
      this.#first = Math.min(this.#first || e.seq, e.seq);
      this.#last = Math.max(this.#last, e.seq);
      const below = e.kind === "result" ? this.#uses.get(`${e.turn} ${e.use}`) : e.kind === "decided" ? this.#asked.get(e.approval) : null;
      const item = below ? null : this.#item(e);
      if (below) below.append(this.#below(e));
      else $("turns").append(item);
      if (e.kind === "use") this.#uses.set(`${e.turn} ${e.use}`, item.lastChild);
      if (e.kind === "asked") this.#asked.set(e.approval, item.lastChild);
    }
    this.#days();
  }

  #item(e) {
    const when = el("a.when", { href: `${talkAddress(this.name)}?n=${e.seq}`, textContent: clock(e.at), title: new Date(e.at).toLocaleString() });
    const who = el("b", { textContent: this.#who(e) });
    return el("li", { "data-kind": e.kind, "data-seq": e.seq, "data-day": day(e.at), "data-failed": Boolean(e.failed || e.kind === "failed") },
      el("div.head", {}, who, when), el("div.body", {}, this.#body(e)));
  }

  #who(e) {
    switch (e.kind) {
      case "prompt": return origin(e.from) + (e.attempt ? `, attempt ${e.attempt}` : "");
      case "said": return this.name;
      case "thought": return `${this.name} thinks`;
      case "use": return e.tool;
      case "result": return "result";
      case "asked": return `${this.name} asks ${e.approval}`;
      case "decided": return `${e.approval} ${e.state}`;
      case "failed": return "failed";
      case "ended": return "";
    }
    return "note";
  }

  #body(e) {
    if (e.kind === "thought") return el("details", {}, el("summary", { textContent: firstLine(e.text) }), el("p", {}, visible(e.text + cut(e))));
    if (e.kind === "use") return this.#given(e);
    if (e.kind === "ended") return this.#ended(e);
    if (e.kind === "failed") return el("p", {}, visible(e.text), e.until ? ` den goes on at ${clock(e.until)}.` : "");
    if (e.kind === "decided" || e.kind === "result") return this.#below(e);
    return folded(e);
  }

  // given is what a tool was given.
  #given(e) {
    let given;
    try { given = JSON.parse(e.input || "{}"); } catch { given = null; }
    if (given === null || typeof given !== "object") return el("pre", {}, visible((e.input ?? "") + cut(e)));
    const rows = Object.entries(given);
    const main = ["command", "cmd", "file_path", "path", "url", "query", "pattern"].find((k) => typeof given[k] === "string");
    if (!main) return rows.length ? folded({ text: JSON.stringify(given, null, 2), cut: e.cut }, "pre") : "";
    const rest = rows.filter(([k]) => k !== main);
    return el("div", {}, el("pre", {}, visible(given[main] + cut(e))), rest.length ? el("details", {}, el("summary", { textContent: rest.map(([k]) => k).join(", ") }), el("pre", {}, visible(JSON.stringify(Object.fromEntries(rest), null, 2)))) : null);
  }

  // below is how a use or a request ended, for the place below it.
  #below(e) {
    if (e.kind === "decided") return el("p.decided", { "data-state": e.state }, el("strong", { textContent: e.state }), e.by ? ` by ${e.by}` : "", e.text ? ": " : "", visible(e.text ?? ""));
    const tone = e.denied ? "denied" : e.failed ? "failed" : "done";
    if (!e.text) return el("p.result", { "data-state": tone, textContent: tone });
    return el("details.result", { "data-state": tone }, el("summary", {}, tone === "done" ? "" : `${tone}: `, firstLine(e.text)), el("pre", {}, visible(e.text + cut(e))));
  }

  #ended(e) {
    const u = e.usage, parts = [e.cancelled ? "cancelled" : e.failed ? "failed" : "done", span((e.took_ms ?? 0) * 1e6)];
    if (e.attempt > 1) parts.push(`${e.attempt} attempts`);
    if (u?.input_tokens || u?.output_tokens) parts.push(`${u.input_tokens ?? 0} tokens in, ${u.output_tokens ?? 0} out`);
    if (u?.cost_usd) parts.push(`$${u.cost_usd.toFixed(4)}`);
    return el("p", {}, parts.join(" · "), e.text ? el("span", {}, " · ", visible(e.text)) : "");
  }

  // days says where a day begins.
  #days() {
    let before = "";
    for (const li of $("turns").children) {
      li.toggleAttribute("data-begins", li.dataset.day !== before);
      before = li.dataset.day;
    }
  }

  // go shows an entry; 0: the newest.
  go(n) {
    this.#at = n;
    const item = n ? [...$("turns").children].findLast((li) => Number(li.dataset.seq) <= n) : null;
    for (const li of $("turns").querySelectorAll(".current")) li.classList.remove("current");
    if (!n) $("talk-box").scrollTop = $("talk-box").scrollHeight;
    item?.classList.add("current");
    item?.scrollIntoView({ block: "center" });
  }

  #to(item) {
    if (!item) return;
    change({ n: item.dataset.seq }, false);
    this.go(Number(item.dataset.seq));
  }

  // step goes to the prompt before, or after.
  step(direction) {
    const all = [...$("turns").querySelectorAll('[data-kind="prompt"]')], at = this.#at || Infinity;
    const to = direction < 0 ? all.findLast((li) => Number(li.dataset.seq) < at) : all.find((li) => Number(li.dataset.seq) > at);
    if (to) this.#to(to);
    else if (direction > 0) this.newest();
  }

  first() { this.#to($("turns").firstElementChild); }

  newest() {
    change({ n: "" }, false);
    this.go(0);
  }

  async #message() {
    const box = $("talk-text"), text = box.value.trim();
    if (!text) return;
    try {
      await send("/api/messages", { agent: this.name, text });
      box.value = "";
      this.newest();
    } catch (err) {
      this.#say(err.message);
    }
  }

  #say(text) {
    $("talk-note").hidden = !text;
    $("talk-note").textContent = text;
  }
}

const cut = (e) => (e.cut ? "\n… (cut)" : "");
const firstLine = (text) => text.trim().split("\n")[0].slice(0, 160);

// folded is a text that is folded where it is long.
function folded(e, tag = "p") {
  const text = (e.text ?? "") + cut(e), lines = text.split("\n");
  if (lines.length <= long.lines && text.length <= long.characters) return el(tag, {}, visible(text));
  return el("details.long", {}, el("summary", {}, el(tag, {}, visible(lines.slice(0, 5).join("\n").slice(0, 500))), el("span.rest", { textContent: `${lines.length} lines` })), el(tag, {}, visible(text)));
}
