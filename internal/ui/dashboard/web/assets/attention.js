// What waits for a person: requests of agents for permission, and the rest with
// the commands that decide it. Where den was started with --allow-actions, the
// requests have buttons.

import { Request } from "./request.js";
import { send } from "./wire.js";
import { $, age, el, place, visible } from "./words.js";

const labels = {
  question: "asks on its screen", quarantine: "failed too often", circuit: "its turns failed", budget: "budget used up",
  cell: "a cell asks", config: "workspace file", done: "done", failed: "failed",
};

// A click must hit what was seen: after cards have moved, buttons rest so long.
const rest = 600;
const maxEnded = 10; // cards of requests that ended stay, so that others do not move

export class Attention {
  #requests = new Map(); // cards by id
  #notes = new Map();
  #timer = 0;
  #shown = "";

  // find is the session of an agent, or null; now is den's clock.
  constructor(find, now) {
    this.find = find;
    this.now = now;
    this.may = false;
    this.waiting = [];
    this.left = 0; // that wait and are not among them
  }

  // allow says whether the page may decide: den tells it with each listing.
  allow(may) {
    if (may === this.may) return;
    this.may = may;
    this.#requests.clear(); // their buttons are made with them
    this.#notes.clear();
  }

  // of is how much of an agent waits.
  of(agent) { return this.ofAgent(agent).length; }

  // ofAgent is what of an agent waits.
  ofAgent(agent) { return agent ? this.waiting.filter((w) => w.agent === agent.name) : []; }

  // list takes what the keeper tells; null: it does not answer, or there is
  // none. What is not known is not over, so the cards stay then.
  list(a) {
    if (a) {
      this.waiting = a.waiting;
      this.left = a.left ?? 0;
      this.#update(a);
      this.#recent(a.recent ?? []);
      $("attention-left").hidden = !a.left;
      $("attention-left").textContent = `${a.left} more: den attention`;
    }
    this.#arrange();
    $("attention-note").textContent = this.#note(a);
    this.tick();
  }

  // arrange shows the cards.
  #arrange() {
    const cards = this.#cards();
    place($("asks"), cards.map((c) => c.root));
    $("attention").hidden = !cards.length && $("recent").hidden;
    this.#settle();
  }

  // update makes the cards those of what waits. Requests that ended keep their
  // card, and say how.
  #update(a) {
    const asked = new Map(this.waiting.map((w) => [w.id, w]));
    for (const w of asked.values()) {
      if (w.approval) this.#request(w).show(w);
      else if (!this.#notes.get(w.id)?.is(w)) this.#notes.set(w.id, new Note(w, this.find(w.session), this.may ? () => !this.#timer : null));
    }
    for (const id of this.#notes.keys()) if (!asked.has(id)) this.#notes.delete(id);
    for (const [id, card] of this.#requests) {
      if (asked.has(id) || a.unreachable?.includes(card.agent)) continue;
      card.end((a.recent ?? []).find((r) => r.agent === card.agent && r.id === card.approval));
    }
    const ended = [...this.#requests.values()].filter((c) => c.ended);
    for (const card of ended.slice(0, Math.max(0, ended.length - maxEnded))) this.#requests.delete(card.id);
  }

  #request(w) {
    let card = this.#requests.get(w.id);
    if (!card) {
      card = new Request(w, { may: this.may, session: this.find(w.session), armed: () => !this.#timer, moved: () => this.#settle(), dismiss: () => this.#dismiss(w.id) });
      this.#requests.set(w.id, card);
    }
    return card;
  }

  #dismiss(id) {
    this.#requests.delete(id);
    this.#arrange();
  }

  #cards() { return [...this.#requests.values(), ...this.#notes.values()]; }

  #note(a) {
    if (!a) return "The keeper does not answer: this may have changed.";
    if (a.unreachable?.length) return `No answer from the harness of ${a.unreachable.join(", ")}.`;
    if (!this.#cards().length) return "Nothing waits.";
    return this.may ? "" : "This page only shows. ‘den dashboard --web --allow-actions’ decides here.";
  }

  // settle lets buttons rest when cards have moved: one came, went or ended.
  #settle() {
    const shown = this.#cards().map((c) => `${c.root.dataset.key} ${c.root.dataset.state}`).join();
    if (shown === this.#shown) return;
    this.#shown = shown;
    clearTimeout(this.#timer);
    $("attention").dataset.armed = "no";
    this.#timer = setTimeout(() => {
      this.#timer = 0;
      $("attention").dataset.armed = "yes";
    }, rest);
  }

  #recent(recent) {
    const others = recent.filter((r) => ![...this.#requests.values()].some((c) => c.agent === r.agent && c.approval === r.id));
    const box = $("recent"), told = JSON.stringify(others);
    box.hidden = !others.length;
    if (box.dataset.told === told) return; // somebody may be selecting in it
    box.dataset.told = told;
    box.lastElementChild.replaceChildren(...others.map((r) => el("li", { "data-state": r.state },
      el("b", { textContent: r.agent }), el("span.did", {}, visible([r.request.tool, r.request.command ?? r.request.paths?.join(" ") ?? r.request.url ?? r.request.text ?? ""].join(" "))),
      el("span.how", { textContent: [r.state, r.by && `by ${r.by}`].filter(Boolean).join(" ") }))));
  }

  tick() {
    const now = this.now();
    for (const card of this.#cards()) card.tick(now);
  }
}

// Note is something that waits and is no request for permission.
class Note {
  // armed says whether a click counts; null where the page may not act.
  constructor(w, session, armed) {
    this.w = w;
    this.told = JSON.stringify(w);
    this.when = el("time");
    const who = session ? el("a", { href: `#/${session.id}`, textContent: w.agent }) : el("span", { textContent: w.agent ?? "workspace" });
    const ways = w.actions.map((x) => el("li", {}, el("code", {}, visible(x.command)), el("span", {}, visible(x.name))));
    const buttons = armed ? this.#buttons(w, session, armed) : null;
    const list = el("ul.ways", {}, ...ways);
    this.root = el("article.note-card", { "data-key": w.id, "data-kind": w.kind },
      el("header", {}, el("b", {}, who), el("span.kind", { textContent: labels[w.kind] ?? w.kind }), this.when),
      el("p.says", {}, visible(w.what)), el("p.evidence", {}, visible(w.evidence)), buttons, buttons ? el("details", {}, el("summary", { textContent: "Commands" }), list) : list);
  }

  // buttons decide it, where the page can: the others have commands alone.
  #buttons(w, session, armed) {
    const result = el("p.result", { role: "status", hidden: true });
    const run = async (what) => {
      if (!armed()) return;
      result.hidden = false;
      result.dataset.tone = "busy";
      result.textContent = "…";
      try {
        await what();
        result.textContent = "Done.";
      } catch (err) {
        result.dataset.tone = "bad";
        result.replaceChildren(visible(err.message));
      }
    };
    const button = (label, what) => el("button", { type: "button", onclick: () => run(what) }, visible(label));
    const order = (label, order) => button(label, () => send("/api/orders", { agent: w.agent, order }));
    const all = [];
    if (w.kind === "question") {
      const question = w.id.slice(`question:${w.agent}:`.length);
      w.actions.filter((x) => /^\d+: /.test(x.name)).forEach((x, i) => all.push(button(x.name, () => send("/api/answers", { agent: w.agent, question, option: i + 1 }))));
    }
    if (w.kind === "quarantine") all.push(order("Reset", "reset"), order("Stop", "stop"));
    if (session && ["question", "cell", "done", "failed"].includes(w.kind)) all.push(el("a.button", { href: `#/${session.id}`, textContent: "Look" }));
    return all.length ? el("footer", {}, ...all, result) : null;
  }

  is(w) { return this.told === JSON.stringify(w); }

  tick(now) {
    const since = Date.parse(this.w.since ?? "");
    this.when.textContent = since > 0 ? age((now - since) * 1e6) : "";
  }
}
