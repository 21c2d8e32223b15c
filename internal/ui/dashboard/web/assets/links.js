// Links on a screen. A program may write anything behind them, so they are opened
// after a question that shows where they lead.

import { $, visible } from "./words.js";

const harmless = /^(https?:\/\/|mailto:)/i;
const plain = /(https?:\/\/)[^\s"'<>`│┃║]+/gi; // written as text, without a link behind it

// linkAt is the address in a cell of a screen, or "".
export function linkAt(screen, row, col) {
  const line = screen?.lines[row];
  const run = line?.runs.find((r) => col >= r.x && col < r.x + r.w);
  if (!run) return "";
  const behind = run.look.style.link ?? "";
  if (behind) return harmless.test(behind) ? behind : "";
  const { text, columns } = spread(line);
  for (const found of text.matchAll(plain)) {
    const address = found[0].replace(/[).,;:!?\]}]+$/, "");
    if (col >= columns[found.index] && col <= columns[found.index + address.length - 1]) return address;
  }
  return "";
}

// spread is the text of a line, and the column of each of its characters.
function spread(line) {
  let text = "";
  const columns = [];
  const put = (c, col) => {
    text += c;
    for (let i = 0; i < c.length; i++) columns.push(col);
  };
  for (const r of line.runs) {
    for (let col = columns.length ? columns.at(-1) + 1 : 0; col < r.x; col++) put(" ", col);
    if (r.whole) put(r.text, r.x);
    else [...r.text].forEach((c, i) => put(c, r.x + i));
  }
  return { text, columns };
}

// askToOpen shows an address, and opens it if that is wanted.
export function askToOpen(address) {
  $("link-address").replaceChildren(visible(address));
  $("link-open").onclick = () => open(address, "_blank", "noopener,noreferrer");
  $("link-copy").onclick = () => navigator.clipboard?.writeText(address);
  $("leave").showModal();
  $("link-cancel").focus();
}
