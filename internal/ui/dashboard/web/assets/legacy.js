// Symbols for legacy computing that fill their cells: tiles, slopes, eighths.

// legacy reports whether mosaic knows a character.
export const legacy = (c) => (c >= 0x1fb00 && c <= 0x1fbaf && c !== 0x1fb93 && !(c >= 0x1fb98 && c <= 0x1fb99) && !(c >= 0x1fb9c && c <= 0x1fb9f));

// The ends of the slopes of mosaics, from left to right, in halves of the width
// and thirds of the height: x, y, x, y.
const slopes = (
  "0213 0223 0113 0123 0013 0110 0120 0210 0220 0310 0221 " +
  "1322 0322 1321 0321 1320 1021 0021 1022 0022 1023 0122").split(" ").map((s) => [...s].map(Number));

const part = (size, n) => Math.max(1, Math.floor((size * n + 4) / 8));

// mosaic fills the character's part of the cell. The colour is set already.
export function mosaic(ctx, c, cell) {
  const { x, y, w, h } = cell;
  const fill = (x0, y0, x1, y1) => ctx.fillRect(x + x0, y + y0, x1 - x0, y1 - y0);
  if (c <= 0x1fb3b) return sextants(fill, c - 0x1fb00 + 1, w, h);
  if (c <= 0x1fb67) return wedge(ctx, c - 0x1fb3c, x, y, w, h);
  if (c <= 0x1fb6f) return quarters(ctx, c, x, y, w, h);
  if (c <= 0x1fb75) { const n = c - 0x1fb6f; return fill(Math.floor((w * n) / 8), 0, Math.max(Math.floor((w * n) / 8) + 1, Math.floor((w * (n + 1)) / 8)), h); }
  if (c <= 0x1fb7b) { const n = c - 0x1fb75; return fill(0, Math.floor((h * n) / 8), w, Math.max(Math.floor((h * n) / 8) + 1, Math.floor((h * (n + 1)) / 8))); }
  if (c <= 0x1fb81) return edges(fill, c, w, h);
  if (c >= 0x1fba0) return slants(ctx, c, cell);
  if (c >= 0x1fb9a) { for (const i of c === 0x1fb9a ? [0x1fb6d, 0x1fb6f] : [0x1fb6c, 0x1fb6e]) quarters(ctx, i, x, y, w, h); return; }
  if (c >= 0x1fb8c) return shades(ctx, fill, c, w, h);
  const more = [2, 3, 5, 6, 7];
  if (c <= 0x1fb86) return fill(0, 0, w, part(h, more[c - 0x1fb82]));
  fill(w - part(w, more[c - 0x1fb87]), 0, w, h);
}

// sextants fills tiles of two columns and three rows. The numbers leave out
// what other blocks have: nothing, all, the left and the right half.
function sextants(fill, n, w, h) {
  if (n >= 0b010101) n++;
  if (n >= 0b101010) n++;
  const mid = part(w, 4);
  for (let i = 0; i < 6; i++) {
    const right = i % 2, row = i >> 1;
    if (n & (1 << i)) fill(right ? mid : 0, Math.floor((h * row) / 3), right ? w : mid, Math.floor((h * (row + 1)) / 3));
  }
}

// wedge fills what is below a slope, or above it.
function wedge(ctx, n, x, y, w, h) {
  const above = n >= slopes.length, [ax, ay, bx, by] = slopes[n % slopes.length].map((v, i) => (i % 2 ? (v * h) / 3 : (v * w) / 2));
  const side = ([px, py]) => ((bx - ax) * (py - ay) - (by - ay) * (px - ax)) * (above ? -1 : 1);
  const corners = [[0, 0], [w, 0], [w, h], [0, h]];
  ctx.beginPath();
  corners.forEach((p, i) => {
    const q = corners[(i + 1) % 4], dp = side(p), dq = side(q), t = dp / (dp - dq);
    if (dp >= 0) ctx.lineTo(x + p[0], y + p[1]);
    if (dp * dq < 0) ctx.lineTo(x + p[0] + t * (q[0] - p[0]), y + p[1] + t * (q[1] - p[1]));
  });
  ctx.fill();
}

// quarters fills one of the triangles between the diagonals, or the three others.
function quarters(ctx, c, x, y, w, h) {
  const corners = [[0, h], [0, 0], [w, 0], [w, h]];
  ctx.beginPath();
  for (let i = 0; i < 4; i++) {
    if (c >= 0x1fb6c ? c - 0x1fb6c !== i : c - 0x1fb68 === i) continue;
    const p = corners[i], q = corners[(i + 1) % 4];
    ctx.moveTo(x + p[0], y + p[1]);
    ctx.lineTo(x + q[0], y + q[1]);
    ctx.lineTo(x + w / 2, y + h / 2);
  }
  ctx.fill();
}

function edges(fill, c, w, h) {
  const ew = part(w, 1), eh = part(h, 1);
  if (c <= 0x1fb7d) fill(0, 0, ew, h);
  if (c === 0x1fb7e || c === 0x1fb7f) fill(w - ew, 0, w, h);
  if (c === 0x1fb7d || c === 0x1fb7e || c >= 0x1fb80) fill(0, 0, w, eh);
  if (c === 0x1fb7c || c === 0x1fb7f || c >= 0x1fb80) fill(0, h - eh, w, h);
  if (c !== 0x1fb81) return;
  fill(0, Math.floor((h * 2) / 8), w, Math.floor((h * 3) / 8));
  fill(0, Math.floor((h * 4) / 8), w, Math.floor((h * 5) / 8));
}

// What is filled, and what half, in eighths of the cell: x, y, x, y.
const whole = { 0x1fb91: [0, 0, 8, 4], 0x1fb92: [0, 4, 8, 8], 0x1fb94: [4, 0, 8, 8] };
const shaded = {
  0x1fb8c: [0, 0, 4, 8], 0x1fb8d: [4, 0, 8, 8], 0x1fb8e: [0, 0, 8, 4], 0x1fb8f: [0, 4, 8, 8], 0x1fb90: [0, 0, 8, 8],
  0x1fb91: [0, 4, 8, 8], 0x1fb92: [0, 0, 8, 4], 0x1fb94: [0, 0, 4, 8],
};

function shades(ctx, fill, c, w, h) {
  const at = (size, n) => (n === 4 ? part(size, 4) : (size * n) / 8);
  const area = ([x0, y0, x1, y1]) => fill(at(w, x0), at(h, y0), at(w, x1), at(h, y1));
  if (whole[c]) area(whole[c]);
  if (shaded[c]) {
    ctx.save();
    ctx.globalAlpha *= 7 / 15;
    area(shaded[c]);
    ctx.restore();
  }
  if (c === 0x1fb97) for (const n of [1, 3]) fill(0, Math.floor((h * n) / 4), w, Math.floor((h * (n + 1)) / 4));
  if (c !== 0x1fb95 && c !== 0x1fb96) return;
  for (let i = 0; i < 32; i++) {
    const row = i >> 2, col = i & 3;
    if ((row + col) % 2 === c - 0x1fb95) fill(Math.floor((w * col) / 4), Math.floor((h * row) / 8), Math.floor((w * (col + 1)) / 4), Math.floor((h * (row + 1)) / 8));
  }
}

// The lines of U+1FBA0 and on: upper left, upper right, lower left and lower
// right from bit 0 on.
const lines = [1, 2, 4, 8, 5, 10, 12, 3, 9, 6, 14, 13, 11, 7, 15];

function slants(ctx, c, { x, y, x2, y2, w, h, thin }) {
  const mx = x + Math.floor((w - thin) / 2) + thin / 2, my = y + Math.floor((h - thin) / 2) + thin / 2;
  if (c === 0x1fbaf) {
    ctx.fillRect(x, my - thin / 2, w, thin);
    return ctx.fillRect(mx - thin / 2, y + Math.floor(h / 4), thin, h - 2 * Math.floor(h / 4));
  }
  const ends = [[x, my, mx, y], [mx, y, x2, my], [x, my, mx, y2], [mx, y2, x2, my]];
  ctx.beginPath();
  ends.forEach(([ax, ay, bx, by], i) => {
    if (!(lines[c - 0x1fba0] & (1 << i))) return;
    ctx.moveTo(ax, ay);
    ctx.lineTo(bx, by);
  });
  ctx.strokeStyle = ctx.fillStyle;
  ctx.lineWidth = thin;
  ctx.stroke();
}
