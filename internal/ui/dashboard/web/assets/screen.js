// A Screen is what a session shows, kept from paints: whole ones and changes.

import { Images } from "./images.js";

// The colours are those of den's own pictures. Terminals stay dark on a light
// page, too: the programs in them were told that they are.
const named = [
  "#2b2f38", "#e8606a", "#7fc77a", "#e5b567", "#4781e0", "#c389e8", "#56bcc4", "#c3c8d1",
  "#6c7484", "#ff7f87", "#9ce296", "#f5cd82", "#8fbeff", "#d8a8f5", "#7fd8df", "#f4f6fa"];
export const foreground = "#d5d9e0", background = "#16181d";

const hex = (r, g, b) => `#${((r << 16) | (g << 8) | b).toString(16).padStart(6, "0")}`;
const level = (i) => (i ? 55 + 40 * i : 0);

function stock(i) {
  if (i < 16) return named[i];
  if (i >= 232) return hex(8 + 10 * (i - 232), 8 + 10 * (i - 232), 8 + 10 * (i - 232));
  const n = i - 16;
  return hex(level(Math.floor(n / 36)), level(Math.floor(n / 6) % 6), level(n % 6));
}

// mix gives part of a over b.
function mix(a, b, part) {
  const x = parseInt(a.slice(1), 16), y = parseInt(b.slice(1), 16);
  const ch = (s) => Math.round(((x >> s) & 255) * part + ((y >> s) & 255) * (1 - part));
  return hex(ch(16), ch(8), ch(0));
}

export class Screen {
  cols = 0;
  rows = 0;
  lines = [];
  cursor = { row: 0, col: 0, visible: false };
  blinks = false;
  images = new Images();

  // apply takes a paint and returns the rows to draw anew, or null for all.
  apply(p) {
    const before = this.cursor.row;
    const colors = JSON.stringify([p.fg, p.bg, p.pal]);
    const all = p.full || colors !== this.colors;
    if (p.full) {
      this.lines = Array.from({ length: p.rows }, () => ({ runs: [] }));
      this.images.clear();
    }
    Object.assign(this, { cols: p.cols, rows: p.rows, cursor: p.cursor, alt: p.alt ?? false, mouse: p.mouse ?? "", seq: p.seq, t: p.t, exit: p.exit, title: p.title, missing: p.missing });
    this.colors = colors;
    this.fg = p.fg ?? foreground;
    this.bg = p.bg ?? background;
    this.palette = p.pal ?? {};
    if (all && !p.full) this.#recolor();
    const looks = p.styles.map((s) => this.#look(s));
    for (const line of p.lines) {
      const runs = line.r.map((r) => ({ x: r.x, w: r.w, text: r.c, whole: r.o ?? false, look: looks[r.s] }));
      this.lines[line.y] = { runs, size: line.z, tiles: line.i, blinks: runs.some((r) => r.look.blink) };
    }
    this.blinks = this.lines.some((l) => l.blinks);
    this.images.take(p.images, this.lines);
    return all ? null : new Set([...p.lines.map((l) => l.y), before, p.cursor.row].filter((y) => y < p.rows));
  }

  text(y) {
    let out = "";
    let at = 0;
    for (const r of this.lines[y]?.runs ?? []) {
      out += " ".repeat(Math.max(0, r.x - at)) + (r.look.hidden ? " ".repeat(r.w) : r.text);
      at = r.x + r.w;
    }
    return out.trimEnd();
  }

  // recolor resolves what is kept in colours that the program has changed.
  #recolor() {
    for (const line of this.lines) for (const r of line.runs) r.look = this.#look(r.look.style);
  }

  #color(c, byDefault) {
    if (!c) return byDefault;
    return c[0] === "#" ? c : this.palette[c] ?? stock(Number(c));
  }

  #look(s) {
    let fg = this.#color(s.fg, this.fg), bg = this.#color(s.bg, this.bg);
    if (s.inverse) [fg, bg] = [bg, fg];
    if (s.dim) fg = mix(fg, bg, 0.6);
    return {
      style: s, fg, bg: bg === this.bg ? null : bg, bold: s.bold, italic: s.italic, hidden: s.hidden, blink: s.blink,
      underline: s.underline ?? (s.link ? "dotted" : ""), line: this.#color(s.underline_color, fg), strike: s.strike, over: s.overline,
    };
  }
}
