// Taking over: what is typed on the page goes to the session, as from a terminal
// that is attached. The screen is the one that the page shows anyway.

import { passMouse } from "./mouse.js";
import { token } from "./token.js";
import { $ } from "./words.js";

const named = new Set(["Enter", "Tab", "Backspace", "Escape", "Delete", "Insert", "Home", "End", "PageUp", "PageDown", "ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", ...Array.from({ length: 12 }, (_, i) => `F${i + 1}`)]);
const leaves = "C-\\"; // twice: den's attach is left so, too

// chord is a key as den spells it, or "" if it types text, or is the browser's.
export function chord(e) {
  if (e.metaKey || e.isComposing || e.getModifierState?.("AltGraph")) return "";
  const mods = (e.ctrlKey ? "C-" : "") + (e.altKey ? "M-" : "");
  if (named.has(e.key)) return mods + (e.shiftKey ? "S-" : "") + e.key;
  if (!mods || [...e.key].length !== 1) return "";
  if (e.ctrlKey && e.shiftKey && "cv".includes(e.key.toLowerCase())) return ""; // copy and paste
  return mods + (e.key === " " ? "Space" : e.ctrlKey ? e.key.toLowerCase() : e.key);
}

export class TakeOver {
  id = ""; // of the session that is typed into, or ""
  #socket = null;
  #leaving = false; // the first of the keys that leave was pressed

  // changed is called when it begins and ends, with why it ended.
  constructor(stage, changed) {
    this.changed = changed;
    passMouse(stage, () => document.body.dataset.taken === "yes", (action) => this.#before(() => this.#send({ keys: [action] })));
    const box = this.box = $("typing");
    box.addEventListener("keydown", (e) => this.#key(e));
    box.addEventListener("input", (e) => { if (!e.isComposing) this.#text(); });
    box.addEventListener("compositionend", () => this.#text());
    box.addEventListener("paste", (e) => {
      e.preventDefault();
      this.#send({ paste: e.clipboardData.getData("text/plain") });
    });
    $("text").addEventListener("click", () => { if (this.id && getSelection().isCollapsed) box.focus({ preventScroll: true }); });
  }

  start(session) {
    this.stop();
    const socket = this.#socket = new WebSocket(`ws://${location.host}/take/${session.id}`, ["den.take", `den.token.${token()}`]);
    this.id = session.id;
    this.changed("Taking over …");
    socket.onmessage = (m) => {
      if (socket !== this.#socket) return;
      const { typing, over } = JSON.parse(m.data);
      if (typing) this.#begun(session);
      if (over) this.stop(over);
    };
    socket.onclose = () => { if (socket === this.#socket) this.stop("The connection is gone."); };
  }

  #begun(session) {
    document.body.dataset.taken = "yes";
    this.box.hidden = false;
    this.box.setAttribute("aria-label", `Terminal of ${session.session}: what you type goes to its program. Control and backslash, twice, leaves.`);
    this.box.value = "";
    this.box.focus({ preventScroll: true });
    this.changed("");
  }

  // stop leaves; why is for the person, or "".
  stop(why = "") {
    const was = this.id, socket = this.#socket;
    this.#socket = null;
    this.#leaving = false;
    this.id = "";
    socket?.close();
    delete document.body.dataset.taken;
    this.box.hidden = true;
    if (was) this.changed(why);
  }

  #send(what) {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(what));
  }

  #text() {
    const text = this.box.value;
    this.box.value = "";
    if (text) this.#before(() => this.#send({ text }));
  }

  // before sends the key that might have left, and did not.
  #before(next) {
    if (this.#leaving) this.#send({ keys: [leaves] });
    this.#leaving = false;
    next();
  }

  #key(e) {
    const key = chord(e);
    if (!key) return;
    e.preventDefault();
    if (key === leaves) {
      if (this.#leaving) return this.stop();
      this.#leaving = true;
      return;
    }
    this.#before(() => this.#send({ keys: [key] }));
  }
}
