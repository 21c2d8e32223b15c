// The agents of the workspace, as its keeper tells: what is wanted, what is,
// and why.

import { talkAddress } from "./talk.js";
import { $, age, bypassMark, el, shortName, treeText, visible } from "./words.js";

const tones = { running: "good", starting: "busy", stopping: "busy", quarantined: "bad", unknown: "bad" };

export class Agents {
  #known = null;

  constructor(find) { this.find = find; } // the session of an agent, or null

  // know takes what the keeper tells; render shows it, once the sessions are known.
  know(w) { this.#known = w; }

  // nameOf is what a session is called: by its agent, if it has one.
  nameOf(session) { return this.of(session)?.name ?? shortName(session); }

  // named is an agent by its name, or null.
  named(name) { return this.#known?.agents.find((a) => a.name === name) ?? null; }

  // of is the agent that lives in a session, or null.
  of(session) {
    return this.#known?.agents.find((a) => [session.session, session.id, shortName(session)].includes(a.session)) ?? null;
  }

  render(now = Date.now()) {
    const box = $("agents"), w = this.#known;
    box.hidden = !w;
    if (!w) return;
    const head = el("header", {}, el("h2", { textContent: w.workspace || "Workspace" }), el("p", { textContent: w.unknown ?? w.problem ?? w.config, className: w.unknown || w.problem ? "problem" : "" }));
    const trees = w.agents.some((a) => a.worktree);
    const rows = w.agents.map((a) => this.#row(a, now, trees));
    const columns = ["agent", "needs you", "wanted", "actual", ...(trees ? ["worktree"] : []), "what", "restarts", "since"];
    const table = el("table", {}, el("thead", {}, el("tr", {}, ...columns.map((t) => el("th", { textContent: t, scope: "col" })))), el("tbody", {}, ...rows));
    box.replaceChildren(head, ...(rows.length ? [el("div.scroll", {}, table)] : []));
  }

  #row(a, now, trees) {
    const s = this.find(a.session);
    const name = s ? el("a", { href: `#/${s.id}`, textContent: a.name }) : el("span", { textContent: a.name });
    const need = a.attention?.state ?? "";
    const asks = a.question?.text ?? (["asking", "failed"].includes(need) ? a.attention.what : "");
    const talk = a.mind ? el("a.talk-link", { href: talkAddress(a.name), textContent: "conversation" }) : null;
    const actual = el("td.actual", {}, el("i.dot", { "data-tone": tones[a.actual] ?? "over" }), a.actual);
    const since = Date.parse(a.since);
    return el("tr", { "data-need": need }, el("th", { scope: "row" }, name, ...bypassMark(a), talk), el("td.needs", {}, need ? el("span.need", { "data-state": need, textContent: need }) : ""), el("td.wanted", { textContent: a.wanted, "data-met": a.wanted === a.actual }), actual,
      ...(trees ? [el("td.tree", { textContent: treeText(a.worktree), title: a.worktree?.path ?? "" })] : []),
      el("td.why", {}, asks ? el("b.asks", {}, visible(asks)) : a.why),
      el("td.number.restarts", { textContent: a.restarts || "" }), el("td.number", { textContent: since > 0 ? age((now - since) * 1e6) : "" }));
  }
}
