// How the connection to den is, for people: a word at the top, and, where the
// page can show nothing, why.

import { $, el } from "./words.js";

const labels = { connecting: "connecting", live: "live", lost: "connection lost", full: "too many pages", locked: "not let in" };

const why = {
  locked: () => ["This page needs its address", "Open the address that ‘den dashboard --web’ printed in its terminal, with all that is behind the #. Each start of it makes a new one."],
  full: (said) => ["Too many pages are open", said],
};

// showLink takes "connecting", "live", "lost", "full" or "locked", and what den
// said of it.
export function showLink(state, said) {
  $("link").dataset.state = state;
  $("link").lastChild.textContent = labels[state];
  const words = why[state]?.(said);
  $("shut").hidden = !words;
  if (words) $("shut").replaceChildren(el("b", { textContent: words[0] }), el("span", { textContent: words[1] }));
}
