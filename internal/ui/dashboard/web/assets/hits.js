// What was searched for in the session on the stage: its moments on the timeline,
// and the way from one to the next.

import { change } from "./address.js";
import { $, counted } from "./words.js";
import { ask } from "./wire.js";

export class Hits {
  #words = "";
  #base = "";
  #before = 0; // the log was searched from this event on

  // show takes the hits, in the order of time; seek goes to a moment.
  constructor(show, seek) {
    this.all = [];
    this.show = show;
    this.seek = seek;
    $("hit-before").onclick = () => this.next(-1);
    $("hit-after").onclick = () => this.next(1);
    $("hits-more").onclick = () => this.#read();
    $("hits-close").onclick = () => {
      this.find(this.#base, "");
      change({ find: "" }, true);
    };
  }

  // find searches what den answers about at an address; "" ends that.
  find(base, words) {
    if (words === this.#words && base === this.#base) return;
    Object.assign(this, { all: [] });
    [this.#words, this.#base, this.#before] = [words, base, 0];
    $("hits").hidden = !words;
    this.show(this.all);
    if (words) this.#read();
  }

  async #read() {
    const words = this.#words, base = this.#base;
    $("hits-more").hidden = true;
    this.#say("searching …");
    try {
      const f = await ask(`${base}/search?q=${encodeURIComponent(words)}${this.#before ? `&before=${this.#before}` : ""}`);
      if (words !== this.#words || base !== this.#base) return;
      this.all = [...f.hits, ...this.all];
      this.#before = f.from.seq + 1;
      $("hits-more").hidden = !f.more;
      this.show(this.all);
      this.#say(`${counted(this.all.length, "hit")}${f.more ? " in the newest part" : ""}${f.dropped ? `, ${f.dropped} more` : ""}`);
    } catch (err) {
      if (words === this.#words && base === this.#base) this.#say(err.message);
    }
  }

  #say(text) { $("hits-what").textContent = `“${this.#words}”: ${text}`; }

  // next goes to the hit before or after the moment that is shown.
  next(direction, at = this.at?.() ?? null) {
    const now = at ?? Infinity;
    const found = direction < 0 ? this.all.findLast((h) => h.elapsed_ns < now) : this.all.find((h) => h.elapsed_ns > now);
    if (found) this.seek(found.elapsed_ns);
  }
}
