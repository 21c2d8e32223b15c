// stayAtEnd keeps a box that scrolls at its end when its size changes, if it was
// there.
export function stayAtEnd(box) {
  let atEnd = true;
  box.addEventListener("scroll", () => { atEnd = isAtEnd(box); }, { passive: true });
  new ResizeObserver(() => { if (atEnd) box.scrollTop = box.scrollHeight; }).observe(box);
}

// isAtEnd reports whether the last lines of a box are seen.
export const isAtEnd = (box) => box.scrollTop + box.clientHeight >= box.scrollHeight - 40;
