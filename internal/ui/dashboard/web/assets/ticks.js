// How the page says things about ticks.

import { span } from "./words.js";

// tickTone is the colour of a tick: how it ended.
export function tickTone(t) {
  if (t.state === "running") return "busy";
  if (t.state !== "ended") return "mark";
  return { normal: "good", limit: "note", context: "note", interrupted: "over", crashed: "mark" }[t.reason] ?? "bad";
}

// tickEnd says how a tick ended.
export function tickEnd(t) {
  if (t.state === "running") return "runs";
  if (t.state === "cut off") return "killed, not completed yet";
  if (t.state !== "ended") return "its end is not known";
  return t.reason;
}

// tickTook says how long a tick took, as far as that is known.
export function tickTook(t, now) {
  if (!t.began) return "?";
  const began = Date.parse(t.began);
  if (t.state === "running") return span((now - began) * 1e6);
  return `${t.open ? "at least " : ""}${span(Math.max(0, Date.parse(t.until) - began) * 1e6)}`;
}

// tickCauses says why a tick began.
export const tickCauses = (t) => (t.causes ?? []).map((c) => (c.kind === "hand" ? "by hand" : c.reason ? `${c.kind}: ${c.reason}` : c.kind)).join(" · ");

export const tickAddress = (name, number, terminal = "") => `#/kernel/${encodeURIComponent(name)}/${number}${terminal === "" ? "" : `/${terminal}`}`;
