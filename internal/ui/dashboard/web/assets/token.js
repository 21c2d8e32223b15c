// The token of this page. The address that den prints has it behind the #, which
// a browser sends nobody. It leaves the address at once, and is kept for this
// origin, which a port belongs to: other servers of this machine never get it.

const key = "den-token";
const changed = [];
let current = taken() ?? kept();

export const token = () => current;

// onToken is called when there is another token.
export function onToken(f) { changed.push(f); }

// bearer is what each request has to carry.
export const bearer = () => ({ Authorization: `Bearer ${current}` });

// forget drops a token that den no longer takes.
export function forget() {
  current = "";
  try { localStorage.removeItem(key); } catch { /* it was not kept */ }
}

// taken is the token of the address, or null if that has none.
function taken() {
  const found = /^#token=([\w-]+)$/.exec(location.hash)?.[1];
  if (!found) return null;
  history.replaceState(null, "", "#/");
  try { localStorage.setItem(key, found); } catch { /* it lasts as long as the page */ }
  return found;
}

function kept() {
  try { return localStorage.getItem(key) ?? ""; } catch { return ""; }
}

function use(found) {
  if (!found || found === current) return;
  current = found;
  for (const f of changed) f();
}

// An address that is opened in a tab that has the page does not load it anew; one
// that is opened in another tab is for this tab, too.
addEventListener("hashchange", () => use(taken()));
addEventListener("storage", (e) => { if (e.key === key) use(e.newValue); });
