// The agents that sleep and wake: what each does, and its ticks on a timeline.

import { Night } from "./night.js";
import { $, el, place } from "./words.js";

const legend = [["good", "normal"], ["note", "limit or context"], ["bad", "failed"], ["over", "interrupted"], ["mark", "killed, or not known"], ["busy", "runs"], ["accent", "a wake to come"]];

export class Nights {
  #all = new Map(); // by name

  constructor(now) {
    this.now = now; // den's clock
    $("nights-legend").replaceChildren(...legend.map(([tone, text]) => el("li", { "data-tone": tone }, el("i"), text)));
  }

  list(k) {
    $("nights").hidden = !k;
    if (!k) return;
    $("nights-problem").hidden = !k.problem;
    $("nights-problem").textContent = k.problem ?? "";
    const names = new Set(k.agents.map((a) => a.name));
    for (const name of this.#all.keys()) if (!names.has(name)) this.#all.delete(name);
    place($("nights-list"), k.agents.map((a) => this.#night(a).root));
  }

  #night(a) {
    let night = this.#all.get(a.name);
    if (!night) {
      night = new Night(a.name, this.now);
      this.#all.set(a.name, night);
    }
    night.describe(a);
    return night;
  }

  tick() { for (const night of this.#all.values()) night.tick(); }

  focus() { document.querySelector(".night .days")?.focus(); }
}
