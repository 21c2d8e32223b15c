// An Easel draws a Screen on a canvas, cell by cell: wide characters take two
// cells, lines join, and every attribute shows.

import { draw, draws } from "./glyphs.js";

export const family = '"JetBrains Mono", "SF Mono", ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace';
export const cellRatio = 20 / 9; // height over width, as in den's pictures

// advance is the width of a letter of the family at one pixel.
const advance = (() => {
  let known = 0;
  return () => {
    if (!known) {
      const ctx = document.createElement("canvas").getContext("2d");
      ctx.font = `100px ${family}`;
      known = ctx.measureText("M").width / 100;
    }
    return known;
  };
})();

// fontSize is that at which letters fill cells of this width.
export const fontSize = (cellWidth) => cellWidth / advance();

export class Easel {
  constructor(canvas) {
    this.canvas = canvas;
    this.ctx = canvas.getContext("2d", { alpha: false });
    this.blinkOff = false;
    this.top = 0; // the first row that is shown
  }

  // size sets the cells' width in device pixels (whole ones give the sharpest
  // picture), and the canvas to the screen's size, or to one that is given.
  size(screen, cellWidth, width = 0, height = 0) {
    const cellHeight = Number.isInteger(cellWidth) ? Math.round(cellWidth * cellRatio) : cellWidth * cellRatio;
    const w = width || Math.round(cellWidth * screen.cols), h = height || Math.round(cellHeight * screen.rows);
    const same = this.cw === cellWidth && this.canvas.width === w && this.canvas.height === h;
    if (same) return false;
    Object.assign(this, { cw: cellWidth, ch: cellHeight, px: fontSize(cellWidth) });
    this.thin = Math.max(1, Math.round(this.px / 13));
    this.canvas.width = w;
    this.canvas.height = h;
    this.fonts = new Map();
    return true;
  }

  // paint draws some rows, or all.
  paint(screen, rows = null) {
    const { ctx } = this;
    ctx.textBaseline = "alphabetic";
    ctx.textRendering = "geometricPrecision";
    ctx.fontKerning = "none";
    if (!rows) {
      ctx.fillStyle = screen.bg;
      ctx.fillRect(0, 0, this.canvas.width, this.canvas.height);
      for (let y = this.top; y < screen.rows; y++) this.#row(screen, y);
    } else for (const y of rows) if (y >= this.top) this.#row(screen, y);
    this.#cursor(screen);
  }

  #x(col) { return Math.round(col * this.cw); }
  #y(row) { return Math.round((row - this.top) * this.ch); }

  #row(screen, y) {
    const { ctx } = this;
    const top = this.#y(y), bottom = this.#y(y + 1);
    ctx.fillStyle = screen.bg;
    ctx.fillRect(0, top, this.canvas.width, bottom - top);
    const runs = screen.lines[y]?.runs ?? [];
    for (const r of runs) {
      if (!r.look.bg) continue;
      ctx.fillStyle = r.look.bg;
      ctx.fillRect(this.#x(r.x), top, this.#x(r.x + r.w) - this.#x(r.x), bottom - top);
    }
    for (const r of runs) this.#run(r, top, bottom, r.look.fg);
  }

  #run(r, top, bottom, color) {
    const { look } = r;
    if (look.hidden || (look.blink && this.blinkOff)) return;
    this.ctx.fillStyle = color;
    this.#font(look);
    this.#text(r, top, bottom);
    this.#decorate(r, top, bottom, color);
  }

  #font(look) {
    const key = (look.bold ? 1 : 0) + (look.italic ? 2 : 0);
    let f = this.fonts.get(key);
    if (!f) {
      const font = `${look.italic ? "italic " : ""}${look.bold ? "bold " : ""}${this.px}px ${family}`;
      this.ctx.font = font;
      this.ctx.letterSpacing = "0px";
      // Spacing that is not nothing also keeps letters from being joined.
      f = { font, spacing: `${this.cw - this.ctx.measureText("M").width || 0.0001}px` };
      this.fonts.set(key, f);
    }
    this.ctx.font = f.font;
    this.ctx.letterSpacing = f.spacing;
  }

  #text(r, top, bottom) {
    const base = top + (bottom - top) / 2 + this.px * 0.345;
    const plain = /^[\x20-\x7e]*$/;
    if (plain.test(r.text)) {
      if (r.text.trim()) this.ctx.fillText(r.text, this.#x(r.x), Math.round(base));
      return;
    }
    if (r.whole) return this.#character(r.text, r.x, r.w, base);
    let col = r.x;
    for (const ch of r.text) {
      const c = ch.codePointAt(0);
      if (draws(c)) draw(this.ctx, c, this.#x(col), top, this.#x(col + 1), bottom, this.thin);
      else if (ch !== " ") this.#character(ch, col, 1, base);
      col++;
    }
  }

  // character puts one into the middle of its cells, squeezed if need be.
  #character(text, col, cells, base) {
    const { ctx } = this;
    ctx.letterSpacing = "0px";
    const room = cells * this.cw, wide = ctx.measureText(text).width;
    ctx.fillText(text, col * this.cw + Math.max(0, (room - wide) / 2), base, room);
  }

  #decorate(r, top, bottom, color) {
    const { ctx, thin } = this;
    const { look } = r;
    if (!look.underline && !look.strike && !look.over) return;
    const x = this.#x(r.x), w = this.#x(r.x + r.w) - x;
    const under = Math.min(bottom - 2 * thin, Math.round(top + (bottom - top) / 2 + this.px * 0.5));
    if (look.underline) {
      ctx.fillStyle = look.line;
      underlines[look.underline]?.(ctx, x, under, w, thin, this.cw);
    }
    ctx.fillStyle = color;
    if (look.strike) ctx.fillRect(x, Math.round(top + (bottom - top) / 2 + this.px * 0.06), w, thin);
    if (look.over) ctx.fillRect(x, top, w, thin);
  }

  #cursor(screen) {
    const c = screen.cursor;
    if (screen.exit) return; // nobody is there to write
    if (!c.visible || c.row >= screen.rows || c.col >= screen.cols) return;
    const { ctx } = this;
    const under = this.#under(screen, c);
    const x = this.#x(c.col), w = this.#x(c.col + (under?.w ?? 1)) - x, top = this.#y(c.row), bottom = this.#y(c.row + 1);
    ctx.fillStyle = screen.fg;
    if (c.shape === "bar") return ctx.fillRect(x, top, 2 * this.thin, bottom - top);
    if (c.shape === "underline") return ctx.fillRect(x, bottom - 2 * this.thin, w, 2 * this.thin);
    ctx.fillRect(x, top, w, bottom - top);
    if (under) this.#run(under, top, bottom, screen.bg);
  }

  // under is the one character below the cursor, as a run of its own.
  #under(screen, c) {
    for (const r of screen.lines[c.row]?.runs ?? []) {
      if (c.col < r.x || c.col >= r.x + r.w) continue;
      if (r.whole) return r;
      return { ...r, x: c.col, w: 1, text: [...r.text][c.col - r.x] ?? " " };
    }
    return null;
  }
}

const underlines = {
  single: (ctx, x, y, w, thin) => ctx.fillRect(x, y, w, thin),
  double: (ctx, x, y, w, thin) => { ctx.fillRect(x, y - thin, w, thin); ctx.fillRect(x, y + thin, w, thin); },
  dotted: (ctx, x, y, w, thin) => { for (let i = 0; i < w; i += 2 * thin) ctx.fillRect(x + i, y, thin, thin); },
  dashed: (ctx, x, y, w, thin, cw) => { for (let i = 0; i < w; i += cw) ctx.fillRect(x + i, y, cw * 0.6, thin); },
  curly: (ctx, x, y, w, thin, cw) => {
    ctx.save();
    ctx.beginPath();
    ctx.rect(x, y - 3 * thin, w, 6 * thin);
    ctx.clip();
    ctx.beginPath();
    ctx.moveTo(x, y);
    for (let i = 0, up = true; i < w; i += cw / 2, up = !up) ctx.quadraticCurveTo(x + i + cw / 4, y + (up ? -2.4 : 2.4) * thin, x + i + cw / 2, y);
    ctx.strokeStyle = ctx.fillStyle;
    ctx.lineWidth = thin;
    ctx.stroke();
    ctx.restore();
  },
};
