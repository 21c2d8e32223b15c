// One request of an agent for permission: what it wants to do, in full, why it
// is asked for, and the buttons that decide it.

import { send } from "./wire.js";
import { age, el, span, visible } from "./words.js";

const words = { approved: "Approved", denied: "Denied", expired: "Expired: nobody decided in time", withdrawn: "Withdrawn: the agent no longer asks" };

export class Request {
  ended = false;

  // o has may, whether the page may decide, the agent's session, or null, and
  // armed, moved and dismiss.
  constructor(w, o) {
    this.o = o;
    this.id = w.id;
    this.agent = w.agent;
    this.approval = w.approval.id;
    this.when = el("time");
    this.result = el("p.result", { role: "status", hidden: true });
    this.foot = el("footer");
    const who = o.session ? el("a", { href: `#/${o.session.id}`, textContent: w.agent }) : el("span", { textContent: w.agent });
    const r = w.approval.request;
    this.root = el("article.request", { "data-key": w.id, "data-id": w.approval.id, "data-state": "open", "aria-label": `${w.agent} asks for permission` },
      el("header", {}, el("b", {}, who), el("span.tool", {}, visible(r.tool)), r.kind === r.tool ? null : el("span.kind", { textContent: r.kind }), this.when),
      ...this.#what(r), this.#facts(w), this.#input(w), this.foot, this.result);
    this.#buttons(w);
  }

  // what is the request itself: the command, or what stands for it.
  #what(r) {
    if (r.command) return [el("pre.command", {}, visible(r.command))];
    const text = [r.url, ...(r.paths ?? [])].filter(Boolean).join("\n") || r.text || "";
    return text ? [el("pre.command", {}, visible(text))] : [];
  }

  #facts(w) {
    const r = w.approval.request;
    const facts = [["because", w.approval.asked], ["in", r.dir], ["files", r.command ? r.paths?.join("\n") : ""], ["says", r.command || r.paths?.length || r.url ? r.text : ""], ["id", w.approval.id]];
    return el("dl", {}, ...facts.filter(([, v]) => v).map(([k, v]) => el("div", {}, el("dt", { textContent: k }), el("dd", {}, visible(v)))));
  }

  // input is all that the agent gave its tool: a command need not be all.
  #input(w) {
    if (!w.input) return null;
    return el("details", { open: !w.approval.request.command }, el("summary", { textContent: "Input of the tool" }), el("pre", {}, visible(w.input)));
  }

  #buttons(w) {
    if (!this.o.may) {
      this.foot.replaceChildren(...w.actions.map((x) => el("code", {}, visible(x.command))));
      return;
    }
    const button = (text, className, option, always) => el(`button.${className}`, { type: "button", textContent: text, onclick: () => this.#decide(option, always) });
    this.why = el("input", { type: "text", maxLength: 500, placeholder: "Reason (optional)", autocomplete: "off", "aria-label": "Reason" });
    const approve = [button("Approve", "approve", "approve", false), button("Always approve", "quiet", "approve", true)];
    const deny = [button("Deny", "deny", "deny", false), button("Always deny", "quiet", "deny", true)];
    const question = w.approval.request.kind === "question"; // it needs words, not a yes
    if (w.cut) this.say("It is too long to be shown here whole. To approve it, read it with ‘den approvals -j’.", "bad");
    if (question && !w.cut) return this.#answers(w, deny[0]);
    this.foot.replaceChildren(...(w.cut ? [] : [approve[0]]), deny[0], this.why, el("span.always", {}, ...(w.cut ? [] : [approve[1]]), deny[1]));
  }

  // answers has a button for each choice of a question, and a field for words.
  #answers(w, deny) {
    const choices = (w.approval.request.choices ?? []).map((c) => el("button.approve", { type: "button", onclick: () => this.#decide("answer", false, c) }, visible(c)));
    const words = el("input", { type: "text", maxLength: 4000, placeholder: "Another answer", autocomplete: "off", "aria-label": "Answer" });
    const form = el("form", { onsubmit: (e) => { e.preventDefault(); if (words.value.trim()) this.#decide("answer", false, words.value); } }, words, el("button", { textContent: "Answer" }));
    this.foot.replaceChildren(...choices, form, deny);
  }

  async #decide(option, always, text = "") {
    if (!this.o.armed() || this.busy || this.ended) return;
    this.busy = true;
    this.root.dataset.busy = "yes";
    this.say({ approve: "Approving …", deny: "Denying …" }[option] ?? "Answering …", "busy");
    try {
      const d = await send("/api/decisions", { agent: this.agent, id: this.approval, option, always, text, why: text ? "" : this.why.value.trim() });
      this.end({ state: d.state, always: d.always, note: d.note, by: "this page" });
    } catch (err) {
      if (!this.ended) this.say(err.message, "bad"); // else it was told how it ended
    }
    this.busy = false;
    delete this.root.dataset.busy;
  }

  show(w) {
    this.asked = Date.parse(w.approval.created);
    this.expires = Date.parse(w.approval.expires);
  }

  // end says how it ended; the card stays, so that no other takes its place
  // under a finger. Without a word it is over for a reason that is not known.
  end(how) {
    if (this.ended) return;
    this.ended = true;
    const state = how?.state ?? "over";
    this.root.dataset.state = state;
    const parts = [words[state] ?? "It is over."];
    if (how?.by && (state === "approved" || state === "denied")) parts[0] += ` by ${how.by}`;
    if (how?.always) parts.push("The like of it is decided in the same way from now on.");
    if (how?.note) parts.push(how.note);
    this.say(parts.join(" · "), { approved: "good", denied: "bad" }[state] ?? "over");
    this.foot.replaceChildren(el("button.quiet", { type: "button", textContent: "Dismiss", onclick: () => this.o.dismiss() }));
    this.when.textContent = "";
    this.o.moved();
  }

  say(text, tone) {
    this.result.hidden = !text;
    this.result.dataset.tone = tone;
    this.result.replaceChildren(visible(text));
  }

  tick(now) {
    if (this.ended) return;
    const left = this.expires - now;
    this.when.dataset.soon = left < 60000 ? "yes" : "no";
    this.when.textContent = `asked ${age((now - this.asked) * 1e6)} ago · ${left > 0 ? `expires in ${span(left * 1e6)}` : "expires now"}`;
  }
}
