// The box that stands for a character that no font has, with its number on it, as
// in den's pictures: nobody takes it for a character.

// The figures: three columns and five rows each, row by row from the highest bit.
const figures = [
  0b111101101101111, 0b010110010010111, 0b111001111100111, 0b111001111001111, 0b101101111001001, 0b111100111001111, 0b111100111101111, 0b111001010010010,
  0b111101111101111, 0b111101111001111, 0b111101111101101, 0b110101110101110, 0b111100100100111, 0b110101101101110, 0b111100111100111, 0b111100111100100,
];

const empty = /^[\p{White_Space}\p{Default_Ignorable_Code_Point}\u2800]*$/u;
const side = 32, nobodys = "\u0378"; // a number that no character has
let canvas = null, known = new Map(), nothing = "", asOf = -1;

// lacks reports whether no font has a character: then it looks as one that is
// none. For some browsers that is nothing at all, as characters look that are
// blank. came differs when fonts have come.
export function lacks(text, family, came) {
  if (empty.test(text)) return false;
  if (came !== asOf) [asOf, known, nothing] = [came, new Map(), picture(nobodys, family)];
  let is = known.get(text);
  if (is !== undefined) return is;
  const font = `${side / 2}px ${family}`;
  if (!document.fonts.check(font, text)) return false; // its font is on its way
  is = picture(text, family) === nothing;
  known.set(text, is);
  return is;
}

// picture is what the browser draws.
function picture(text, family) {
  canvas ??= Object.assign(document.createElement("canvas"), { width: 2 * side, height: side }).getContext("2d", { willReadFrequently: true });
  canvas.clearRect(0, 0, 2 * side, side);
  canvas.font = `${side / 2}px ${family}`;
  canvas.fillText(text, side / 4, side * 0.75);
  return canvas.getImageData(0, 0, 2 * side, side).data.join();
}

// tofu draws the box into cells of a size.
export function tofu(ctx, code, x, y, w, h, thin) {
  const dot = Math.floor(Math.min(w / 9, h / 20));
  if (dot < 1) return crossed(ctx, x, y, w, h, thin);
  const wide = w >= (2 * h * 9) / 20 ? 3 : 2;
  let text = code.toString(16);
  while (text.length < 4 || text.length % wide) text = `0${text}`;
  const rows = text.length / wide, left = x + Math.floor((w - (4 * wide - 1) * dot) / 2), top = y + Math.floor((h - (6 * rows - 1) * dot) / 2);
  ctx.globalAlpha = 0.25;
  ctx.fillRect(x, top - dot, w, (6 * rows + 1) * dot);
  ctx.globalAlpha = 1;
  [...text].forEach((c, i) => figure(ctx, parseInt(c, 16), left + (i % wide) * 4 * dot, top + Math.floor(i / wide) * 6 * dot, dot));
}

function figure(ctx, v, x, y, dot) {
  for (let bit = 0; bit < 15; bit++) if ((figures[v] >> (14 - bit)) & 1) ctx.fillRect(x + (bit % 3) * dot, y + Math.floor(bit / 3) * dot, dot, dot);
}

// crossed is for where there is no room for figures.
function crossed(ctx, x, y, w, h, thin) {
  ctx.save();
  ctx.beginPath();
  ctx.rect(x + thin / 2, y + thin, w - thin, h - 2 * thin);
  ctx.moveTo(x, y + thin);
  ctx.lineTo(x + w, y + h - thin);
  ctx.moveTo(x + w, y + thin);
  ctx.lineTo(x, y + h - thin);
  ctx.strokeStyle = ctx.fillStyle;
  ctx.lineWidth = thin;
  ctx.stroke();
  ctx.restore();
}
