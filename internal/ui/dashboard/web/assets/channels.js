// The channels of the workspace's chat server: a list, and one as a conversation.

import { isAtEnd, stayAtEnd } from "./bottom.js";
import { ask } from "./wire.js";
import { $, el, place, visible } from "./words.js";

const every = 2000; // milliseconds between two looks for what is new
const palette = 8;

export const channelAddress = (name) => `#/channel/${encodeURIComponent(name)}`;

// tint is the colour of a nick: the same wherever it speaks.
const tint = (nick) => [...nick].reduce((sum, c) => (sum * 31 + c.codePointAt(0)) % 9973, 7) % palette;

const day = (at) => new Date(at).toLocaleDateString([], { weekday: "long", day: "numeric", month: "long" });
const clock = (at) => new Date(at).toLocaleTimeString([], { hour12: false, hour: "2-digit", minute: "2-digit" });

export class Channels {
  #state = "";

  // follow keeps the list up to date.
  async follow() {
    for (;;) {
      await this.#look();
      await new Promise((done) => setTimeout(done, 5 * every));
    }
  }

  async #look() {
    if (document.hidden) return;
    try {
      const { channels, state } = await ask(`/api/channels?state=${encodeURIComponent(this.#state)}`);
      if (state === this.#state) return;
      this.#state = state;
      $("channels").hidden = !channels.length;
      place($("channel-list"), channels.map((c) => el("li", {}, el("a", { href: channelAddress(c.name) }, el("b", { textContent: c.name }),
        el("span.last", {}, el("i", { textContent: c.last.from, "data-tint": tint(c.last.from) }), " ", visible(c.last.text.split("\n")[0].slice(0, 200))), el("time", { textContent: clock(c.last.at) })))));
    } catch { /* the next look may find it: how the connection is, is said elsewhere */ }
  }
}

export class Channel {
  name = "";
  #state = "";
  #opened = 0; // a number that each opening has for itself
  #first = 0; // of the messages that are shown
  #last = 0;

  constructor() {
    $("channel-more").onclick = () => this.#older();
    stayAtEnd($("messages").parentElement);
  }

  open(name) {
    if (name === this.name) return;
    this.close();
    this.name = name;
    $("channel").hidden = false;
    $("channel-name").textContent = name;
    this.#follow(++this.#opened);
  }

  close() {
    this.#opened++;
    this.name = this.#state = "";
    this.#first = this.#last = 0;
    $("channel").hidden = true;
    $("messages").replaceChildren();
    $("channel-more").hidden = $("channel-note").hidden = true;
  }

  get #base() { return `/api/channels/${encodeURIComponent(this.name)}`; }

  async #follow(opened) {
    while (opened === this.#opened) {
      if (!document.hidden) await this.#newer(opened);
      await new Promise((done) => setTimeout(done, every));
    }
  }

  async #newer(opened) {
    try {
      const part = await ask(`${this.#base}?state=${encodeURIComponent(this.#state)}`);
      if (opened !== this.#opened) return;
      this.#say("");
      if (part.state === this.#state) return;
      const first = !this.#state, box = $("messages").parentElement;
      const below = first || isAtEnd(box);
      this.#state = part.state;
      const fresh = part.messages.filter((m) => m.id > this.#last);
      if (first) this.#older(part);
      else this.#add(fresh, "append");
      if (below) box.scrollTop = box.scrollHeight;
      if (first && !part.messages.length) this.#say("Nothing was said here.");
    } catch (err) {
      if (opened === this.#opened) this.#say(err.message);
    }
  }

  // older puts what was said before above what is shown.
  async #older(part) {
    const opened = this.#opened, box = $("messages").parentElement;
    part ??= await ask(`${this.#base}?before=${this.#first}`).catch((err) => { this.#say(err.message); return null; });
    if (!part || opened !== this.#opened) return;
    const tall = box.scrollHeight;
    this.#add(part.messages, "prepend");
    if (part.next) this.#first = part.next;
    $("channel-more").hidden = !part.more;
    box.scrollTop += box.scrollHeight - tall;
  }

  #add(messages, where) {
    if (!messages.length) return;
    $("messages")[where](...messages.map((m) => this.#item(m)));
    this.#last = Math.max(this.#last, messages.at(-1).id);
    this.#days();
  }

  #item(m) {
    const who = el("b", { textContent: m.from, "data-tint": tint(m.from), title: m.account ? `account ${m.account}` : "no account" });
    const text = el("p", {}, visible(m.kind === "topic" ? `set the topic: ${m.text}` : m.text), m.cut ? " … (cut)" : null);
    return el("li", { "data-kind": m.kind, "data-day": day(m.at), "data-from": m.from }, el("time", { textContent: clock(m.at), title: new Date(m.at).toLocaleString() }), who, text);
  }

  // days says where a day begins, and leaves out a name that stands above.
  #days() {
    let before = null;
    for (const li of $("messages").children) {
      li.toggleAttribute("data-begins", li.dataset.day !== before?.dataset.day);
      li.toggleAttribute("data-same", li.dataset.kind === "says" && before?.dataset.kind === "says" && li.dataset.from === before.dataset.from && li.dataset.day === before.dataset.day);
      before = li;
    }
  }

  #say(text) {
    $("channel-note").hidden = !text;
    $("channel-note").textContent = text;
  }
}
