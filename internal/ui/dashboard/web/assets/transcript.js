// The transcript of a tick: what the agent was told, said and did.

import { ask } from "./wire.js";
import { $, el, visible } from "./words.js";

const words = { prompt: "told", said: "says", thought: "thinks", note: "note" };
const long = { lines: 14, characters: 1200 }; // texts beyond it are folded

export class Transcript {
  #base = "";
  #items = []; // in their order: { at, root }
  #read = 0; // entries so far
  #more = false; // there are others
  #reading = null;

  // chosen takes the entry that a person picks.
  constructor(chosen) {
    this.chosen = chosen;
    $("transcript-more").onclick = () => this.#next();
    new IntersectionObserver((seen) => { if (seen.some((s) => s.isIntersecting) && this.#more) this.#next(); }, { root: $("transcript-more").parentElement, rootMargin: "600px" }).observe($("transcript-more"));
  }

  open(base) {
    this.close();
    this.#base = base;
  }

  close() {
    this.#base = "";
    this.#items = [];
    this.#read = 0;
    this.#more = false;
    this.#reading = null;
    this.following = false;
    $("transcript").replaceChildren();
    $("transcript-count").textContent = "";
    $("transcript-more").hidden = $("transcript-note").hidden = true;
  }

  // catchUp reads what is new. there is false where there is no transcript.
  async catchUp(there) {
    if (there === false) return this.#say("There is no transcript of this tick.");
    const below = this.#below();
    if (!this.#more) await this.#next();
    if (below && this.#items.length && this.following) reveal(this.#items.at(-1).root);
    this.following = true; // from the second time on: the first shows the beginning
  }

  #below() {
    const box = $("transcript").parentElement;
    return box.scrollTop + box.clientHeight >= box.scrollHeight - 24;
  }

  #say(text) {
    $("transcript-note").hidden = !text;
    $("transcript-note").textContent = text;
  }

  // next reads on, once at a time.
  #next() {
    if (this.#reading) return this.#reading;
    const mine = this.#load(this.#base).finally(() => { if (this.#reading === mine) this.#reading = null; });
    return this.#reading = mine;
  }

  async #load(base) {
    let part;
    try {
      part = await ask(`${base}/transcript?from=${this.#read}`);
    } catch (err) {
      if (base === this.#base) this.#say(err.message);
      return;
    }
    if (base !== this.#base) return;
    this.#say("");
    this.#read += part.entries.length;
    this.#more = Boolean(part.next);
    const added = part.entries.map((e) => ({ at: Date.parse(e.at ?? ""), root: this.#item(e) }));
    this.#items.push(...added);
    $("transcript").append(...added.map((x) => x.root));
    $("transcript-more").hidden = !this.#more;
    $("transcript-count").textContent = `${this.#read}${this.#more ? "+" : ""}`;
  }

  #item(e) {
    const at = e.at ? new Date(e.at).toLocaleTimeString([], { hour12: false }) : "";
    const when = el("button.when", { type: "button", textContent: at || "–", title: "Show the terminals at this moment", disabled: !e.at, onclick: () => this.chosen(e) });
    const kind = el("span.kind", { textContent: e.kind === "use" ? e.tool : e.kind === "result" ? (e.failed ? "refused" : "answer") : words[e.kind] ?? e.kind });
    const body = e.kind === "use" ? this.#use(e) : e.kind === "note" ? this.#note(e) : this.#text(e);
    return el("li", { "data-kind": e.kind, "data-failed": Boolean(e.failed) }, el("div.head", {}, when, kind, e.tty === undefined ? null : el("span.tty", { textContent: `terminal ${e.tty}` })), body);
  }

  #text(e) {
    const text = (e.text ?? "") + (e.cut ? "\n… (cut: the whole is in the file)" : "");
    const lines = text.split("\n");
    if (lines.length <= long.lines && text.length <= long.characters) return el("pre", {}, visible(text));
    return el("details", {}, el("summary", {}, el("pre", {}, visible(lines.slice(0, 4).join("\n").slice(0, 400))), el("span.rest", { textContent: `${lines.length} lines` })), el("pre", {}, visible(text)));
  }

  // use shows the arguments of a tool; the terminal stands in the head.
  #use(e) {
    let given;
    try { given = JSON.parse(e.input || "{}"); } catch { given = null; }
    if (given === null || typeof given !== "object") return e.input ? el("pre", {}, visible(e.input)) : null;
    const rows = Object.entries(given).filter(([k]) => k !== "tty" || e.tty === undefined);
    if (!rows.length) return null;
    return el("dl", {}, ...rows.map(([k, v]) => el("div", {}, el("dt", { textContent: k }), el("dd", {}, visible(typeof v === "string" ? v : JSON.stringify(v))))));
  }

  #note(e) {
    return el("p", {}, visible(e.text ?? ""), e.input ? el("code", {}, visible(e.input)) : null);
  }

  // move marks the last entry before a moment; null: none.
  move(clock) {
    const current = clock === null ? undefined : this.#items.findLast((x) => x.at <= clock + 1);
    for (const x of this.#items) {
      const is = x === current;
      if (is && !x.root.classList.contains("current")) reveal(x.root);
      x.root.classList.toggle("current", is);
    }
  }
}

// reveal scrolls the transcript, and nothing else, so that an entry can be seen.
function reveal(item) {
  const box = $("transcript").parentElement;
  const at = item.getBoundingClientRect(), room = box.getBoundingClientRect();
  if (at.top < room.top || at.height > room.height) box.scrollTop += at.top - room.top;
  else if (at.bottom > room.bottom) box.scrollTop += at.bottom - room.bottom;
}
