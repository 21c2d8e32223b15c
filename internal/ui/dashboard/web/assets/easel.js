// An Easel draws a Screen on a canvas, cell by cell: wide characters take two
// cells, lines join, and every attribute shows.

import { draw, draws } from "./glyphs.js";
import { drawTile } from "./images.js";
import { lacks, tofu } from "./tofu.js";

// The fonts and the measures are those of den's pictures.
const family = getComputedStyle(document.documentElement).getPropertyValue("--screen");
export const cellRatio = 20 / 9; // height over width
const advance = 0.6; // the width of a letter in letter sizes
const axis = 0.36; // the height of the middle of signs

// fontSize is that at which letters fill cells of this width.
export const fontSize = (cellWidth) => cellWidth / advance;

// A font comes when its first character is drawn, and an image when it is
// decoded: what was drawn without them is drawn again then, by those who listen.
let fontsCame = 0;
function came() {
  fontsCame++;
  dispatchEvent(new Event("fontscame"));
}
document.fonts.addEventListener("loadingdone", came);
addEventListener("imagecame", came);

// Signs and icons, not letters: their ink counts, not the room that their font
// gives them. Icons of private use and pictures stand in the middle.
const pictorial = /^[\p{So}\p{Sm}\p{Co}\p{Sk}]/u, icon = /^[\p{Co}\u{1f300}-\u{1f64f}\u{1f680}-\u{1f6ff}\u{1f900}-\u{1faff}]/u, square = /^[\u2e80-\ud7ff\uf900-\uffef]/u;

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
    const same = this.came === fontsCame && this.cw === cellWidth && this.canvas.width === w && this.canvas.height === h;
    if (same) return false;
    Object.assign(this, { cw: cellWidth, ch: cellHeight, px: fontSize(cellWidth), came: fontsCame });
    this.thin = Math.max(1, Math.round(this.px / 12));
    this.baseline = Math.round(this.px * 1.02);
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
    this.#sized(screen, y, () => this.#cells(screen, y, top, bottom));
  }

  // sized draws in a row whose characters may be of double size: all that is
  // drawn is twice as wide, and of double height one half is seen.
  #sized(screen, y, draw) {
    const size = screen.lines[y]?.size;
    if (!size) return draw();
    const { ctx } = this;
    const top = this.#y(y), bottom = this.#y(y + 1);
    ctx.save();
    ctx.beginPath();
    ctx.rect(0, top, this.canvas.width, bottom - top);
    ctx.clip();
    if (size === "double-width") ctx.transform(2, 0, 0, 1, 0, 0);
    else ctx.transform(2, 0, 0, 2, 0, size === "double-top" ? -top : -bottom);
    draw();
    ctx.restore();
  }

  #cells(screen, y, top, bottom) {
    const { ctx } = this;
    const runs = screen.lines[y]?.runs ?? [];
    for (const r of runs) {
      if (!r.look.bg) continue;
      ctx.fillStyle = r.look.bg;
      ctx.fillRect(this.#x(r.x), top, this.#x(r.x + r.w) - this.#x(r.x), bottom - top);
    }
    for (const t of screen.lines[y]?.tiles ?? []) {
      const left = this.#x(t.col);
      drawTile(ctx, screen.images.get(t.image), t, left, top, this.#x(t.col + t.width) - left, bottom - top);
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
    const base = top + this.baseline;
    const plain = /^[\x20-\x7e]*$/;
    if (plain.test(r.text)) {
      if (r.text.trim()) this.ctx.fillText(r.text, this.#x(r.x), base);
      return;
    }
    if (r.whole) return this.#character(r.text, r.x, r.w, top, base);
    let col = r.x;
    for (const ch of r.text) {
      const c = ch.codePointAt(0);
      if (draws(c)) draw(this.ctx, c, this.#x(col), top, this.#x(col + 1), bottom, this.thin);
      else if (ch !== " ") this.#character(ch, col, 1, top, base);
      col++;
    }
  }

  // character puts one into the middle of its cells, smaller if need be.
  #character(text, col, cells, top, base) {
    const { ctx } = this;
    const code = text.codePointAt(0);
    if (text.length === String.fromCodePoint(code).length && lacks(text, family, fontsCame)) {
      return tofu(ctx, code, this.#x(col), top, this.#x(col + cells) - this.#x(col), Math.round(this.ch), this.thin);
    }
    ctx.letterSpacing = "0px";
    const room = cells * this.cw, m = ctx.measureText(text);
    if (pictorial.test(text) && !square.test(text)) return this.#sign(text, col * this.cw, room, top, base, m);
    const by = Math.min(cells === 2 ? 1.1 : 1, room / m.width);
    this.#scaled(text, col * this.cw + (room - m.width * by) / 2, base, by);
  }

  // sign makes a sign's ink fit. What must shrink shrinks towards the axis, so
  // that it stays beside the letters' middle.
  #sign(text, x, room, top, base, m) {
    const { px } = this;
    const left = -m.actualBoundingBoxLeft, right = m.actualBoundingBoxRight, up = m.actualBoundingBoxAscent, down = m.actualBoundingBoxDescent;
    if (right <= left || up + down <= 0) return;
    let by = Math.min(1, room / (right - left), (this.ch * 0.95) / (up + down)), y = base - axis * px * (1 - by);
    if (icon.test(text)) {
      by = Math.min(room / (right - left), (px * 1.05) / (up + down), 1.6);
      y = top + this.ch / 2 + (by * (up - down)) / 2;
    }
    this.#scaled(text, x + room / 2 - (by * (left + right)) / 2, y, by);
  }

  #scaled(text, x, y, by) {
    const { ctx } = this;
    if (by === 1) return ctx.fillText(text, x, y);
    ctx.save();
    ctx.translate(x, y);
    ctx.scale(by, by);
    ctx.fillText(text, 0, 0);
    ctx.restore();
  }

  #decorate(r, top, bottom, color) {
    const { ctx, thin } = this;
    const { look } = r;
    if (!look.underline && !look.strike && !look.over) return;
    const x = this.#x(r.x), w = this.#x(r.x + r.w) - x;
    const under = Math.min(bottom - thin - 1, Math.floor(top + this.baseline + Math.max(1, this.px * 0.12)));
    if (look.underline) {
      ctx.fillStyle = look.line;
      underlines[look.underline]?.(ctx, x, under, w, thin, this.cw);
    }
    ctx.fillStyle = color;
    if (look.strike) ctx.fillRect(x, Math.floor(top + this.baseline - this.px * 0.32), w, thin);
    if (look.over) ctx.fillRect(x, top, w, thin);
  }

  #cursor(screen) {
    const c = screen.cursor;
    if (screen.exit) return; // nobody is there to write
    if (!c.visible || c.row >= screen.rows || c.col >= screen.cols) return;
    this.#sized(screen, c.row, () => this.#block(screen, c));
  }

  #block(screen, c) {
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
