// The mouse of a person who has taken a terminal over goes to the program, as far
// as that has asked for it. Shift keeps it for the page, to select text.

import { $ } from "./words.js";

const buttons = ["", "Middle", "Right"];
const notch = 100; // pixels of a wheel

// passMouse calls send with what den calls the action, while on.
export function passMouse(stage, on, send) {
  const box = $("text");
  const takes = (e, what) => on() && !e.shiftKey && what.includes(stage.shown?.mouse);
  const mods = (e) => (e.ctrlKey ? "C-" : "") + (e.altKey ? "M-" : "");
  const spelled = ({ row, col }) => `${row},${col}`;
  let pressed = null; // where, and with which button
  let turned = 0; // of the wheel, less than a notch

  box.addEventListener("pointerdown", (e) => {
    if (!takes(e, ["buttons"]) || e.button > 2) return;
    pressed = { button: e.button, at: stage.cell(e) };
    box.setPointerCapture(e.pointerId);
  });
  box.addEventListener("pointerup", (e) => {
    if (pressed?.button !== e.button) return;
    const from = spelled(pressed.at), to = spelled(stage.cell(e)), name = buttons[e.button];
    pressed = null;
    send(from === to ? `${mods(e)}${name}Click:${to}` : `${mods(e)}${name}Drag:${from}-${to}`);
  });
  box.addEventListener("pointercancel", () => { pressed = null; });
  box.addEventListener("mousedown", (e) => {
    if (!on() || stage.shown?.mouse !== "buttons") return;
    getSelection().removeAllRanges(); // which Shift would extend
    if (!e.shiftKey) e.preventDefault(); // it selects nothing
  });
  box.addEventListener("contextmenu", (e) => { if (takes(e, ["buttons"])) e.preventDefault(); });
  box.addEventListener("wheel", (e) => {
    if (!takes(e, ["buttons", "wheel"]) || e.ctrlKey) return; // Ctrl is the browser's zoom
    e.preventDefault();
    turned += e.deltaMode === WheelEvent.DOM_DELTA_PIXEL ? e.deltaY / notch : e.deltaY / 3;
    const name = turned < 0 ? "WheelUp" : "WheelDown";
    for (; Math.abs(turned) >= 1; turned -= Math.sign(turned)) send(`${mods(e)}${name}:${spelled(stage.cell(e))}`);
  }, { passive: false });
}
