// The images that a screen shows parts of. Each comes once, as long as the
// screen shows it.

export class Images {
  #all = new Map(); // by id

  // take adds images, and forgets those that no line shows.
  take(images, lines) {
    for (const i of images ?? []) {
      const image = { source: i.source, box: i.box, bitmap: null };
      this.#all.set(i.id, image);
      decode(i.png).then((bitmap) => {
        image.bitmap = bitmap;
        dispatchEvent(new Event("imagecame"));
      }, () => {}); // den has decoded it once: a browser that cannot shows nothing
    }
    if (!this.#all.size) return;
    const shown = new Set(lines.flatMap((l) => (l.tiles ?? []).map((t) => t.image)));
    for (const [id, image] of this.#all) {
      if (shown.has(id)) continue;
      image.bitmap?.close();
      this.#all.delete(id);
    }
  }

  clear() {
    for (const image of this.#all.values()) image.bitmap?.close();
    this.#all.clear();
  }

  get(id) { return this.#all.get(id); }
}

function decode(base64) {
  const raw = atob(base64);
  const bytes = Uint8Array.from(raw, (c) => c.charCodeAt(0));
  return createImageBitmap(new Blob([bytes], { type: "image/png" }));
}

// The units of boxes: a cell has so many.
const unitX = 9, unitY = 20;

// drawTile draws cells of an image into a rectangle of the canvas.
export function drawTile(ctx, image, t, left, top, width, height) {
  if (!image?.bitmap) return; // it will come
  const [sx, sy, sw, sh] = image.source, [bx, by, bw, bh] = image.box;
  const fromX = t.x * unitX, fromY = t.y * unitY;
  const x0 = Math.max(fromX, bx), x1 = Math.min(fromX + t.width * unitX, bx + bw);
  const y0 = Math.max(fromY, by), y1 = Math.min(fromY + unitY, by + bh);
  if (x0 >= x1 || y0 >= y1) return;
  const kx = width / (t.width * unitX), ky = height / unitY, px = sw / bw, py = sh / bh;
  ctx.imageSmoothingQuality = "high";
  ctx.drawImage(image.bitmap, sx + (x0 - bx) * px, sy + (y0 - by) * py, (x1 - x0) * px, (y1 - y0) * py,
    left + (x0 - fromX) * kx, top + (y0 - fromY) * ky, (x1 - x0) * kx, (y1 - y0) * ky);
}
