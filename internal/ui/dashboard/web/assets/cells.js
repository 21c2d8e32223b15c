// The list of cells: code, how it ended, how long it took.

import { cellTone } from "./timeline.js";
import { $, clock, el, span } from "./words.js";

const most = 300; // shown: the newest

export class Cells {
  #cells = [];
  #items = new Map(); // by id

  // chosen takes the cell that a person picks.
  constructor(chosen) { this.chosen = chosen; }

  show(cells, at) {
    const list = $("cells");
    const shown = cells.slice(-most);
    const keep = new Set(shown.map((c) => c.cell_id));
    for (const [id, item] of this.#items) if (!keep.has(id)) { item.remove(); this.#items.delete(id); }
    const below = list.scrollTop + list.clientHeight >= list.scrollHeight - 8;
    for (const c of shown) this.#show(list, c);
    if (below && shown.length !== this.#cells.length) list.scrollTop = list.scrollHeight;
    this.#cells = shown;
    $("cell-count").textContent = cells.length || "";
    list.classList.toggle("none", !cells.length);
    this.move(at);
  }

  #show(list, c) {
    let item = this.#items.get(c.cell_id);
    if (!item) {
      const button = el("button", { type: "button" }, el("code"), el("span.end"), el("span.took"), el("span.at"));
      item = el("li", {}, button);
      button.onclick = () => this.chosen(item.cell);
      this.#items.set(c.cell_id, item);
      list.append(item);
    }
    item.cell = c;
    const [code, end, took, at] = item.firstChild.children;
    set(code, c.code.trim());
    set(end, result(c));
    set(took, span(c.took_ns));
    set(at, clock(c.start.elapsed_ns));
    item.dataset.tone = cellTone(c);
  }

  // move marks the cell of a moment.
  move(at) {
    let current = null;
    if (at !== null) current = this.#cells.findLast((c) => c.start.elapsed_ns <= at)?.cell_id;
    for (const [id, item] of this.#items) {
      const is = id === current;
      if (is && !item.classList.contains("current")) item.scrollIntoView({ block: "nearest" });
      item.classList.toggle("current", is);
    }
  }
}

function set(e, text) { if (e.textContent !== text) e.textContent = text; }

function result(c) {
  if (!c.end?.seq) return c.waiting_for ? `wants ${c.waiting_for}` : c.status;
  if (c.exit_code !== undefined) return `exit ${c.exit_code}`;
  return c.status;
}
