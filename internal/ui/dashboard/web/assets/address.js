// The address behind the #: what is shown, of which moment, and the filter. It
// can be sent to somebody, and back and forward go through it:
//
//   #/?q=build&all=1        the sessions, filtered
//   #/?find=error           … and what is searched for in them
//   #/ID?t=83.25            a session, 83.25 s after its start
//   #/talk/NAME?n=120       the conversation of an agent, at its 120th entry

import "./token.js"; // which takes the token out of the address

const rest = 300; // milliseconds that a moment has to stand: browsers limit how often an address changes

let timer = 0, leapt = false;
let taken = location.hash; // what the page has heard of: a new address comes before its event
addEventListener("hashchange", () => { taken = location.hash; });

function parts() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?", 2);
  return [path, new URLSearchParams(query)];
}

// here is what the address says.
export function here() {
  const [path, query] = parts();
  const t = Number(query.get("t") ?? NaN);
  return {
    path: path.split("/").map(decoded), filter: query.get("q") ?? "", all: query.has("all"),
    filtered: query.has("q") || query.has("all"), find: query.get("find") ?? "", n: Number(query.get("n") ?? 0) || 0, at: t >= 0 ? Math.round(t * 1e9) : null,
  };
}

// decoded is a part of an address; one that makes no sense stays as it is.
function decoded(part) {
  try { return decodeURIComponent(part); } catch { return part; }
}

// fleetAddress is that of the sessions.
export function fleetAddress(filter, all, find) {
  const query = new URLSearchParams();
  if (filter) query.set("q", filter);
  if (all) query.set("all", "1");
  if (find) query.set("find", find);
  return `#/${query.size ? `?${query}` : ""}`;
}

// change sets parameters, or drops those that are empty; with push, back undoes
// it.
export function change(parameters, push) {
  const [path, query] = parts();
  for (const [k, v] of Object.entries(parameters)) if (v) query.set(k, v); else query.delete(k);
  const next = `#/${path}${query.size ? `?${query}` : ""}`;
  if (next !== (location.hash || "#/")) history[push ? "pushState" : "replaceState"](null, "", next);
  taken = location.hash;
}

// leap says that the next moment is gone to, not reached by and by: back leads
// to the one before.
export function leap() { leapt = true; }

// seconds is a moment as addresses have it, to the microsecond, as logs do: a
// screen may be erased within the millisecond in which it was drawn. Up: what
// happened then is to be seen.
export function seconds(ns) { return String(Math.ceil(ns / 1e3) / 1e6); }

// stands writes the moment down, once it stands. shown returns it, or null for
// the newest. An address that the page has not yet gone to is left alone: it
// would be lost.
export function stands(shown) {
  clearTimeout(timer);
  timer = setTimeout(() => {
    if (location.hash !== taken) return;
    const at = shown(), before = here().at;
    const t = at === null ? "" : seconds(at);
    change({ t }, leapt || (at === null) !== (before === null));
    leapt = false;
  }, rest);
}
