// Search in what sessions have shown: one after the other, the newest part of
// each first.

import { change, seconds } from "./address.js";
import { $, counted, el, shortName, wall } from "./words.js";
import { ask } from "./wire.js";

const shownHits = 5; // of a session; the others are on its timeline

export class Search {
  #words = "";
  #stop = null;

  // sessions returns those that are searched.
  constructor(sessions) {
    this.sessions = sessions;
    $("find-form").onsubmit = (e) => {
      e.preventDefault();
      this.find($("find").value.trim());
      change({ find: this.#words }, true);
    };
    $("find-close").onclick = () => this.close();
  }

  get words() { return this.#words; }

  // open lets a person say what to search for.
  open() {
    $("search").hidden = false;
    $("search").scrollIntoView({ block: "nearest" });
    $("find").focus();
  }

  close() {
    this.find("");
    $("search").hidden = true;
    change({ find: "" }, true);
  }

  // find searches all sessions; "" ends that.
  async find(words) {
    if (words === this.#words) return;
    this.#stop?.abort();
    this.#words = words;
    $("find").value = words;
    $("found").replaceChildren();
    $("find-state").textContent = "";
    if (!words) return;
    $("search").hidden = false;
    const stop = this.#stop = new AbortController(), all = this.sessions();
    let hits = 0, done = 0;
    for (const s of all) {
      $("find-state").textContent = `${done} of ${counted(all.length, "session")} searched, ${counted(hits, "hit")}`;
      const n = await this.#one(s, words, stop.signal);
      if (stop.signal.aborted) return;
      hits += n;
      done++;
    }
    $("find-state").textContent = `${counted(done, "session")} searched, ${counted(hits, "hit")}`;
  }

  // one searches a session, and returns how many hits it has.
  async #one(s, words, signal) {
    const group = el("li");
    try {
      const f = await ask(`/api/sessions/${s.id}/search?q=${encodeURIComponent(words)}`, signal);
      if (!f.hits.length && !f.more) return 0;
      const address = (hit) => `#/${s.id}?find=${encodeURIComponent(words)}${hit ? `&t=${seconds(hit.elapsed_ns)}` : ""}`;
      const newest = f.hits.slice(-shownHits).reverse(), rest = f.hits.length + (f.dropped ?? 0) - newest.length;
      group.append(el("a.in", { href: address(newest[0]) }, el("b", { textContent: shortName(s) }), el("span", { textContent: counted(f.hits.length + (f.dropped ?? 0), "hit") })),
        ...newest.map((h) => el("a.hit", { href: address(h) }, el("time", { textContent: wall(Date.parse(s.created), h.elapsed_ns) }), el("code", {}, ...marked(h.line, words)))));
      if (rest > 0 || f.more) group.append(el("a.rest", { href: address(null), textContent: [rest > 0 ? `${rest} more` : "", f.more ? "earlier parts are not searched yet" : ""].filter(Boolean).join(", ") }));
      $("found").append(group);
      return f.hits.length + (f.dropped ?? 0);
    } catch (err) {
      if (signal.aborted) return 0;
      group.append(el("b", { textContent: shortName(s) }), el("span.problem", { textContent: err.message }));
      $("found").append(group);
      return 0;
    }
  }
}

// marked is a line with the words in it marked.
function marked(line, words) {
  const out = [], low = line.toLowerCase(), sought = words.toLowerCase();
  let from = 0;
  for (let at = low.indexOf(sought); at >= 0 && low.length === line.length; at = low.indexOf(sought, from)) {
    out.push(line.slice(from, at), el("mark", { textContent: line.slice(at, at + sought.length) }));
    from = at + sought.length;
  }
  return [...out, line.slice(from)];
}
