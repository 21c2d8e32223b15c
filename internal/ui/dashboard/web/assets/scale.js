// The scale of the timeline: round steps, and a long silence at the end drawn
// short, so that it leaves room for what happened.

import { clock } from "./words.js";

const ms = 1e6, s = 1e9, m = 60 * s, h = 60 * m, d = 24 * h;
const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500].map((n) => n * ms).concat(
  [1, 2, 5, 10, 15, 30].map((n) => n * s), [1, 2, 5, 10, 15, 30].map((n) => n * m), [1, 2, 3, 6, 12].map((n) => n * h), [1, 2, 5, 10, 20, 50, 100, 200, 500].map((n) => n * d));

// roundStep is the smallest round step, in nanoseconds, that is not below one.
export const roundStep = (least) => steps.find((n) => n >= least) ?? steps.at(-1);

// stepLabel says a moment that is a multiple of a step.
export function stepLabel(ns, step) {
  if (step >= d) return `${ns / d} d`;
  return clock(ns, step >= s ? 0 : step >= 100 * ms ? 1 : step >= 10 * ms ? 2 : 3);
}

const bend = 0.8; // the part of the width that is left to what happened

// Scale maps moments to places between 0 and a width. last is the last event,
// end where the line ends.
export class Scale {
  constructor(last, end, width) {
    Object.assign(this, { last, end, width });
    this.folded = last > 0 && end - last > last / 4;
  }

  x(ns) {
    if (!this.end) return this.width;
    if (!this.folded) return (ns / this.end) * this.width;
    const part = ns <= this.last ? (bend * ns) / this.last : bend + ((1 - bend) * (ns - this.last)) / (this.end - this.last);
    return part * this.width;
  }

  ns(x) {
    const part = Math.max(0, Math.min(1, x / this.width));
    if (!this.folded) return part * this.end;
    return part <= bend ? (part / bend) * this.last : this.last + ((part - bend) / (1 - bend)) * (this.end - this.last);
  }

  // ticks are round moments that are so many pixels apart at least.
  ticks(apart) {
    const until = this.folded ? this.last : this.end, wide = this.folded ? bend * this.width : this.width;
    const step = roundStep((apart * until) / wide);
    return { step, at: Array.from({ length: Math.floor(until / step) + 1 }, (_, i) => i * step) };
  }
}
