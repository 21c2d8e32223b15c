// Characters that must fill their cells to the edge, drawn by geometry as in
// den's pictures: box drawing, blocks, braille, and the separators of status
// lines. Those of legacy computing are in legacy.js.

import { legacy, mosaic } from "./legacy.js";

// Arms of U+2500 and on: left, right, up, down; l light, h heavy, d double.
const arms = (
  "ll-- hh-- --ll --hh ---- ---- ---- ---- ---- ---- ---- ---- -l-l -h-l -l-h -h-h " +
  "l--l h--l l--h h--h -ll- -hl- -lh- -hh- l-l- h-l- l-h- h-h- -lll -hll -lhl -llh " +
  "-lhh -hhl -hlh -hhh l-ll h-ll l-hl l-lh l-hh h-hl h-lh h-hh ll-l hl-l lh-l hh-l " +
  "ll-h hl-h lh-h hh-h lll- hll- lhl- hhl- llh- hlh- lhh- hhh- llll hlll lhll hhll " +
  "llhl lllh llhh hlhl lhhl hllh lhlh hhhl hhlh hlhh lhhh hhhh ---- ---- ---- ---- " +
  "dd-- --dd -d-l -l-d -d-d d--l l--d d--d -dl- -ld- -dd- d-l- l-d- d-d- -dll -ldd " +
  "-ddd d-ll l-dd d-dd dd-l ll-d dd-d ddl- lld- ddd- ddll lldd dddd ---- ---- ---- " +
  "---- ---- ---- ---- l--- --l- -l-- ---l h--- --h- -h-- ---h lh-- --lh hl-- --hl").split(" ");

// draws reports whether draw knows a character.
export function draws(c) {
  return (c >= 0x2500 && c <= 0x259f) || (c >= 0x2800 && c <= 0x28ff) || (c >= 0xe0b0 && c <= 0xe0bf) || corners.includes(c) || prompts.includes(c) || legacy(c);
}

// draw fills the character's part of the cell from x, y to x2, y2, which are
// whole pixels. The colour is set already.
export function draw(ctx, c, x, y, x2, y2, thin) {
  const cell = { x, y, x2, y2, w: x2 - x, h: y2 - y, thin };
  if (c >= 0x1fb00) mosaic(ctx, c, cell);
  else if (c >= 0x2800 && c <= 0x28ff) braille(ctx, c - 0x2800, cell);
  else if (c >= 0xe0b0) powerline(ctx, c, cell);
  else if (prompts.includes(c)) prompt(ctx, c, cell);
  else if (corners.includes(c)) corner(ctx, c, cell);
  else if (c >= 0x2580) block(ctx, c, cell);
  else box(ctx, c, cell);
}

function box(ctx, c, cell) {
  const a = arms[c - 0x2500];
  if (a !== "----") return lines(ctx, a, cell);
  if (c >= 0x256d && c <= 0x2570) return arc(ctx, c, cell);
  if (c >= 0x2571 && c <= 0x2573) return diagonal(ctx, c, cell);
  dashes(ctx, c, cell);
}

// strokes are the places of lines across a cell, from low to high.
function strokes(low, size, thin) {
  const heavy = thin === 1 ? 3 : 2 * thin - (thin % 2), gap = thin === 1 && size >= 7 ? 3 : thin;
  const light = low + Math.floor((size - thin) / 2);
  const inner = light - Math.floor((gap - thin) / 2);
  return {
    low, high: low + size, light, lightEnd: light + thin, heavy: light - (heavy - thin) / 2, heavyEnd: light + (heavy + thin) / 2,
    inner, innerEnd: inner + gap, outer: inner - thin, outerEnd: inner + gap + thin,
  };
}

// reach is how far an arm goes beyond the middle: to the far side of what
// crosses it, so that corners are filled and no line sticks out.
function reach(s, a, b, self, opposite, fromLow) {
  const pick = (name) => (fromLow ? s[`${name}End`] : s[name]);
  if (a === "h" || b === "h") return pick("heavy");
  if (a !== b || self === opposite) return a === "d" || b === "d" ? pick("outer") : pick("light");
  if (a === "-") return pick("light");
  if (a === "d") return fromLow ? s.inner : s.innerEnd; // this arm ends at a double line
  return fromLow ? s.light : s.lightEnd;
}

function lines(ctx, a, cell) {
  const [left, right, up, down] = a;
  const x = strokes(cell.x, cell.w, cell.thin), y = strokes(cell.y, cell.h, cell.thin);
  const level = (f, t, lo, hi) => ctx.fillRect(f, lo, t - f, hi - lo), upright = (f, t, lo, hi) => ctx.fillRect(lo, f, hi - lo, t - f);
  arm(level, left, y, x.low, reach(x, up, down, left, right, true), up, down, x.inner, true);
  arm(level, right, y, reach(x, up, down, right, left, false), x.high, up, down, x.innerEnd, false);
  arm(upright, up, x, y.low, reach(y, left, right, up, down, true), left, right, y.inner, true);
  arm(upright, down, x, reach(y, left, right, down, up, false), y.high, left, right, y.innerEnd, false);
}

// arm fills one arm. Each line of a double arm ends at inner where the arm
// beside it is double too: their inner lines make a corner.
function arm(fill, kind, s, from, to, lowSide, highSide, inner, fromLow) {
  const ends = (side) => (side !== "d" ? [from, to] : fromLow ? [from, inner] : [inner, to]);
  if (kind === "l") fill(from, to, s.light, s.lightEnd);
  if (kind === "h") fill(from, to, s.heavy, s.heavyEnd);
  if (kind !== "d") return;
  fill(...ends(lowSide), s.outer, s.inner);
  fill(...ends(highSide), s.innerEnd, s.outerEnd);
}

function arc(ctx, c, { x, y, x2, y2, w, h, thin }) {
  const mx = strokes(x, w, thin).light + thin / 2, my = strokes(y, h, thin).light + thin / 2;
  const [edgeX, edgeY] = [[x2, y2], [x, y2], [x, y], [x2, y]][c - 0x256d];
  ctx.beginPath();
  ctx.moveTo(edgeX, my);
  ctx.arcTo(mx, my, mx, edgeY, Math.min(w, h) / 2);
  ctx.lineTo(mx, edgeY);
  stroke(ctx, thin);
}

function diagonal(ctx, c, { x, y, x2, y2, thin }) {
  ctx.beginPath();
  if (c !== 0x2572) { ctx.moveTo(x2, y); ctx.lineTo(x, y2); }
  if (c !== 0x2571) { ctx.moveTo(x, y); ctx.lineTo(x2, y2); }
  stroke(ctx, thin);
}

function stroke(ctx, thin) {
  ctx.strokeStyle = ctx.fillStyle;
  ctx.lineWidth = thin;
  ctx.stroke();
}

function dashes(ctx, c, cell) {
  const n = c >= 0x254c ? 2 : c >= 0x2508 ? 4 : 3;
  const x = strokes(cell.x, cell.w, cell.thin), y = strokes(cell.y, cell.h, cell.thin);
  const [along, cross] = c & 2 ? [y, x] : [x, y];
  const [low, high] = c & 1 ? [cross.heavy, cross.heavyEnd] : [cross.light, cross.lightEnd];
  const size = along.high - along.low, gap = Math.max(1, Math.floor(size / (n * 3)));
  for (let i = 0; i < n; i++) {
    const from = along.low + Math.floor((size * i) / n) + (gap >> 1), to = along.low + Math.floor((size * (i + 1)) / n) - (gap - (gap >> 1));
    if (c & 2) ctx.fillRect(low, from, high - low, to - from); else ctx.fillRect(from, low, to - from, high - low);
  }
}

const quadrants = [4, 8, 1, 13, 9, 7, 11, 2, 6, 14];

function block(ctx, c, { x, y, w, h }) {
  const part = (size, n) => Math.max(1, Math.round((size * n) / 8));
  if (c === 0x2580) ctx.fillRect(x, y, w, part(h, 4));
  else if (c <= 0x2588) { const n = part(h, c - 0x2580); ctx.fillRect(x, y + h - n, w, n); }
  else if (c <= 0x258f) ctx.fillRect(x, y, part(w, 0x2590 - c), h);
  else if (c === 0x2590) ctx.fillRect(x + part(w, 4), y, w - part(w, 4), h);
  else if (c <= 0x2593) {
    ctx.save();
    ctx.globalAlpha *= (c - 0x2590) / 4;
    ctx.fillRect(x, y, w, h);
    ctx.restore();
  } else if (c === 0x2594) ctx.fillRect(x, y, w, part(h, 1));
  else if (c === 0x2595) ctx.fillRect(x + w - part(w, 1), y, part(w, 1), h);
  else {
    const bits = quadrants[c - 0x2596], mw = part(w, 4), mh = part(h, 4);
    for (let i = 0; i < 4; i++) {
      if (!(bits & (1 << i))) continue;
      ctx.fillRect(x + (i % 2) * mw, y + (i >> 1) * mh, i % 2 ? w - mw : mw, i >> 1 ? h - mh : mh);
    }
  }
}

const dots = [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2], [0, 3], [1, 3]];

function braille(ctx, bits, { x, y, w, h }) {
  const size = Math.max(1, Math.floor((w + 2) / 5));
  dots.forEach(([col, row], i) => {
    if (bits & (1 << i)) ctx.fillRect(x + Math.floor((w * (1 + 2 * col) - 2 * size + 2) / 4), y + Math.floor((h * (1 + 2 * row) - 4 * size + 4) / 8), size, size);
  });
}

function powerline(ctx, c, cell) {
  const { x, y, x2, y2, w, h, thin } = cell;
  if (c >= 0xe0b8) return wedge(ctx, c, cell);
  const left = (c & 3) >= 2, edge = left ? x2 : x, tip = left ? x : x2;
  ctx.beginPath();
  if (c >= 0xe0b4) {
    ctx.ellipse(edge, (y + y2) / 2, c % 2 ? w - thin / 2 : w, c % 2 ? (h - thin) / 2 : h / 2, 0, -Math.PI / 2, Math.PI / 2, left);
  } else {
    ctx.moveTo(edge, y);
    ctx.lineTo(tip, (y + y2) / 2);
    ctx.lineTo(edge, y2);
  }
  if (c % 2 === 0) ctx.fill(); else stroke(ctx, thin);
}

// wedge fills the half of the cell below or above a diagonal, or draws that.
function wedge(ctx, c, cell) {
  const { x, y, x2, y2 } = cell;
  if (c % 2) return diagonal(ctx, c === 0xe0b9 || c === 0xe0bf ? 0x2572 : 0x2571, cell);
  const all = [[x, y], [x2, y], [x2, y2], [x, y2]], without = { 0xe0b8: 1, 0xe0ba: 0, 0xe0bc: 2, 0xe0be: 3 }[c];
  ctx.beginPath();
  all.forEach((p, i) => { if (i !== without) ctx.lineTo(...p); });
  ctx.fill();
}

// The corners under which coding agents hang results, and the angle that prompts
// end with: in fonts the first is an L, the second a blot.
const corners = [0x23be, 0x23bf, 0x23cb, 0x23cc], prompts = [0x276e, 0x276f];

// letter has the size and the baseline of letters in the cell.
const letter = ({ y, w }) => ({ px: w / 0.6, bottom: y + Math.round((w / 0.6) * 1.02) });

function corner(ctx, c, cell) {
  const { x, y, x2, y2, w, thin } = cell, { light, lightEnd } = strokes(x, w, thin);
  const upper = c === 0x23be || c === 0x23cb, right = c <= 0x23bf;
  const reach = Math.min(y2, letter(cell).bottom) - y, top = upper ? y2 - reach : y;
  ctx.fillRect(light, top, thin, reach);
  const at = upper ? top : top + reach - thin;
  if (right) ctx.fillRect(lightEnd, at, x2 - lightEnd, thin); else ctx.fillRect(x, at, light - x, thin);
}

function prompt(ctx, c, cell) {
  const { px, bottom } = letter(cell), way = c === 0x276f ? 1 : -1;
  const top = bottom - 0.72 * px, middle = (top + bottom) / 2, thick = 0.17 * px * way;
  const from = cell.x + cell.w / 2 - 0.25 * px * way, tip = from + 0.5 * px * way;
  ctx.beginPath();
  for (const [px_, py] of [[from, top], [from + thick, top], [tip, middle], [from + thick, bottom], [from, bottom], [tip - thick, middle]]) ctx.lineTo(px_, py);
  ctx.fill();
}
