// Notifications of the browser, for those who asked for them: of what begins to
// need a person while the page is hidden.

const key = "den-notify";

export class Notify {
  #known = null; // ids of what was told before; null: nothing yet

  constructor(button) {
    this.button = button;
    button.hidden = !("Notification" in globalThis);
    button.onclick = async () => {
      const on = this.on;
      if (!on && Notification.permission !== "granted" && await Notification.requestPermission() !== "granted") return this.#show();
      this.#want(!on);
      this.#show();
    };
    try { this.wanted = localStorage.getItem(key) === "yes"; } catch { this.wanted = false; } // storage may be off
    this.#show();
  }

  #want(yes) {
    this.wanted = yes;
    try { localStorage.setItem(key, yes ? "yes" : ""); } catch { /* it lasts as long as the page */ }
  }

  get on() { return globalThis.Notification?.permission === "granted" && this.wanted; }

  #show() { this.button.setAttribute("aria-pressed", this.on); }

  // tell takes all that needs a person now.
  tell(needing) {
    const fresh = needing.filter((x) => this.#known && !this.#known.has(x.id));
    this.#known = new Set(needing.map((x) => x.id));
    if (!this.on || !document.hidden) return;
    for (const x of fresh.slice(0, 5)) {
      const n = new Notification(`${x.who} needs you`, { body: x.what, tag: x.id });
      n.onclick = () => { window.focus(); n.close(); };
    }
  }
}
