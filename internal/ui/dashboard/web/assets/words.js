// How the page says things.

const second = 1e9;

// span says a duration in nanoseconds, in two units at most.
export function span(ns) {
  const s = ns / second;
  if (s < 0.0995) return `${Math.max(0, Math.round(s * 1000))} ms`;
  if (s < 9.95) return `${s.toFixed(1)} s`;
  if (s < 59.5) return `${Math.round(s)} s`;
  const m = Math.round(s) / 60;
  if (m < 60) return `${Math.floor(m)} m ${String(Math.round(s) % 60).padStart(2, "0")} s`;
  const h = Math.floor(m / 60);
  if (h < 48) return `${h} h ${String(Math.floor(m % 60)).padStart(2, "0")} m`;
  return `${Math.floor(h / 24)} d ${h % 24} h`;
}

// age says the same in one unit, for many at a glance.
export function age(ns) {
  const s = Math.max(0, ns / second);
  if (s < 60) return `${Math.floor(s)}s`;
  if (s < 3600) return `${Math.floor(s / 60)}m`;
  if (s < 172800) return `${Math.floor(s / 3600)}h`;
  return `${Math.floor(s / 86400)}d`;
}

// clock says a position in a session: minutes, seconds, and parts of them.
export function clock(ns, digits = 1) {
  const parts = 10 ** digits, all = Math.floor((ns / second) * parts);
  const s = Math.floor(all / parts), m = Math.floor(s / 60), h = Math.floor(m / 60);
  const two = (n) => String(n).padStart(2, "0");
  return `${h ? `${h}:${two(m % 60)}` : m}:${two(s % 60)}${digits ? `.${String(all % parts).padStart(digits, "0")}` : ""}`;
}

// wall says when that was.
export function wall(start, ns) {
  return new Date(start + ns / 1e6).toLocaleTimeString([], { hour12: false });
}

const active = new Set(["starting", "running", "exiting", "destroying"]);

export const isActive = (s) => active.has(s.status);

// shortName leaves out the tag by which a keeper knows its own sessions.
export const shortName = (s) => s.session.replace(/^w[0-9a-f]{16}(-[a-z]+-x[0-9a-f]{10})?\./, "");

// ending says how a session ended, or how it is.
export function ending(s) {
  if (s.exit_signal) return `killed by ${s.exit_signal}`;
  if (s.status === "exited" && s.exit_code !== undefined) return `exit ${s.exit_code}`;
  return s.status || "unreadable";
}

// tone is the colour of a status.
export function tone(s) {
  if (s.problem) return "bad";
  if (s.status === "running") return "good";
  if (isActive(s)) return "busy";
  if (s.status === "failed" || s.status === "lost") return "bad";
  if (s.status === "exited" && (s.exit_code || s.exit_signal)) return "bad";
  return "over";
}

// needs says whether a session needs a person.
export const needs = (s) => ["asking", "failed", "done"].includes(s.attention?.state);

// byNeed orders sessions that need a person, what waits longest first.
export const byNeed = (a, b) => (Date.parse(a.attention.since ?? "") || Infinity) - (Date.parse(b.attention.since ?? "") || Infinity) || (a.id < b.id ? -1 : 1);

// lived is how long a session has run, or ran, in nanoseconds.
export function lived(s, now) {
  const end = s.ended ? Date.parse(s.ended) : isActive(s) ? now : Date.parse(s.last_output ?? s.created);
  return Math.max(0, end - Date.parse(s.created)) * 1e6;
}

// el makes an element: el("p.class", {props}, ...children).
export function el(what, props = {}, ...children) {
  const [tag, ...classes] = what.split(".");
  const e = document.createElement(tag);
  if (classes.length) e.className = classes.join(" ");
  for (const [k, v] of Object.entries(props)) {
    if (k.startsWith("data-") || k.startsWith("aria-") || k === "role") e.setAttribute(k, v);
    else e[k] = v;
  }
  e.append(...children.filter((c) => c !== null && c !== undefined));
  return e;
}

// counted is a number of things.
export const counted = (n, what) => `${n} ${what}${n === 1 ? "" : "s"}`;

// waitsForYou says how much waits for a person.
export const waitsForYou = (n) => (n === 1 ? "1 waits for you" : `${n} wait for you`);

// place makes children those of an element, touching only what differs, so
// that focus and canvases stay.
export function place(parent, children) {
  const keep = new Set(children);
  for (const c of [...parent.childNodes]) if (!keep.has(c)) c.remove();
  let at = parent.firstChild;
  for (const c of children) {
    if (c === at) at = at.nextSibling;
    else parent.insertBefore(c, at);
  }
}

// Characters that draw nothing or change the order of others: with them a
// command could look like another one.
const hidden = /[\p{Cc}\p{Cf}\p{Cn}\p{Co}\p{Cs}\p{Zl}\p{Zp}\u00a0\u115f\u1160\u2800\u3164\uffa0]/u;

// visible is text in which nothing is hidden: each hidden character is shown
// by its number. Newlines and tabs are as they are.
export function visible(text) {
  const out = document.createDocumentFragment();
  let run = "";
  const flush = () => { if (run) out.append(run); run = ""; };
  for (const c of text) {
    if (c === "\n" || c === "\t" || !hidden.test(c)) { run += c; continue; }
    flush();
    out.append(el("span.hidden", { textContent: `\\u{${c.codePointAt(0).toString(16)}}`, title: "a character that is not visible" }));
  }
  flush();
  return out;
}

export const $ = (id) => document.getElementById(id);

// bypassMark is for an agent that asks nobody before it edits or runs, or of
// which that is not known.
export function bypassMark(agent) {
  const title = { bypass: "bypasses permission questions (approval = \"bypass\")", unknown: "its own words may have it ask otherwise than den can tell (den agent explain)" }[agent.approval];
  return title ? [el("span.bypass", { textContent: agent.approval === "bypass" ? "bypass" : "approval unknown", title })] : [];
}

// treeText is an agent's git worktree in few words: its branch, the commits
// that the base does not have, and the files that are not committed.
export function treeText(t) {
  if (!t) return "";
  if (t.problem) return `${t.branch}: ${t.problem}`;
  const dirty = t.changed + t.untracked;
  return [t.branch, ...(t.ahead ? [`${t.ahead} ahead`] : []), ...(dirty ? [`${dirty} dirty`] : [])].join(", ");
}
