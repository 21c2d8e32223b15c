// A pinned moment: the screen of any other one is compared with it, and what is
// between the two can be exported.

import { $, clock, counted, el, visible } from "./words.js";

export class Pin {
  at = null; // the moment in nanoseconds, or null: nothing is pinned
  #lines = [];
  #shown = "";

  // take pins a moment with the lines of its screen.
  take(at, lines) {
    this.at = at;
    this.#lines = lines;
    this.#shown = "";
    document.body.dataset.pin = "yes";
    $("pin").setAttribute("aria-pressed", "true");
  }

  clear() {
    this.at = null;
    this.#lines = [];
    delete document.body.dataset.pin;
    $("pin").setAttribute("aria-pressed", "false");
    $("compare").hidden = true;
  }

  // range is what is between the pinned moment and another one, or null.
  range(other) {
    if (this.at === null || other === null || other === this.at) return null;
    return [Math.min(this.at, other), Math.max(this.at, other)];
  }

  // show compares another screen with the pinned one.
  show(lines, at) {
    if (this.at === null) return;
    $("compare").hidden = false;
    const key = `${at} ${lines.join("\n")}`;
    if (key === this.#shown) return; // somebody may be selecting in it
    this.#shown = key;
    const changes = compare(this.#lines, lines);
    const went = changes.filter((c) => c.sign === "-").length, came = changes.filter((c) => c.sign === "+").length;
    $("compare-what").textContent = `${clock(this.at)} and ${clock(at)}: ` + (went || came ? `${counted(went, "line")} went, ${counted(came, "line")} came` : "the same text");
    $("changes").replaceChildren(...changes.map((c) => el("li", { "data-sign": c.sign }, el("span.sign", { textContent: c.sign }), el("code", {}, visible(c.text)))));
  }
}

// compare returns the lines of two screens in order: those of both (" "), of the
// first alone ("-") and of the second alone ("+").
export function compare(a, b) {
  [a, b] = [trimmed(a), trimmed(b)];
  const best = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1)); // common lines from here on
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) best[i][j] = a[i] === b[j] ? best[i + 1][j + 1] + 1 : Math.max(best[i + 1][j], best[i][j + 1]);
  }
  const out = [];
  let i = 0, j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) out.push({ sign: " ", text: a[(j++, i++)] });
    else if (j >= b.length || (i < a.length && best[i + 1][j] >= best[i][j + 1])) out.push({ sign: "-", text: a[i++] });
    else out.push({ sign: "+", text: b[j++] });
  }
  return out;
}

// trimmed leaves out what is empty at the end.
function trimmed(lines) {
  let n = lines.length;
  while (n && !lines[n - 1]) n--;
  return lines.slice(0, n);
}
