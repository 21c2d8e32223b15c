// The connection to den. The page says what it shows, and when it has drawn
// what it was sent: den sends the next screens then, and always the newest. A
// hidden page draws nothing, so it asks for nothing.

import { bearer, forget, onToken, token } from "./token.js";

const full = 1013; // the code of a connection that is closed because there are too many

export class Wire {
  #socket = null;
  #asked = { thumbs: [], large: "" };
  #wait = 250;

  // heard takes each message; state takes how the connection is: "connecting",
  // "live", "lost", "full" (with why), and "locked": there is no token, or den
  // does not take it.
  constructor(heard, state) {
    this.heard = heard;
    this.state = state;
    document.addEventListener("visibilitychange", () => this.#ask());
    onToken(() => this.#connect());
    this.#connect();
  }

  #ask() { this.#say(document.hidden ? { thumbs: [], large: "" } : this.#asked); }

  show(asked) {
    Object.assign(this.#asked, asked);
    this.#say(asked);
  }

  #say(what) {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(what));
  }

  #connect() {
    this.#socket?.close();
    this.#socket = null;
    if (!token()) return this.state("locked");
    const socket = this.#socket = new WebSocket(`ws://${location.host}/live`, ["den.live", `den.token.${token()}`]);
    let opened = false, first = true;
    socket.onopen = () => {
      opened = true;
      this.#ask();
    };
    socket.onmessage = (event) => requestAnimationFrame(() => {
      if (socket !== this.#socket) return;
      if (first) this.state("live");
      first = false;
      this.#wait = 250;
      const m = JSON.parse(event.data);
      this.heard(m);
      this.#say({ ack: m.n });
    });
    socket.onclose = (e) => this.#closed(socket, opened, e);
  }

  // closed says why a connection is over, and makes another one in a while. A
  // browser does not tell why one was not opened, so den is asked.
  async #closed(socket, opened, { code, reason }) {
    if (socket !== this.#socket) return;
    this.state(code === full ? "full" : "lost", reason);
    const mine = token();
    if (!opened && await refused() && mine === token()) {
      forget();
      return this.state("locked");
    }
    setTimeout(() => { if (socket === this.#socket) this.#connect(); }, this.#wait);
    this.#wait = Math.min(this.#wait * 2, 5000);
  }
}

// refused reports whether den does not take the token.
async function refused() {
  try { return (await fetch("/live", { headers: bearer(), credentials: "omit" })).status === 401; } catch { return false; }
}

// ask fetches one answer; an error is what den says.
export async function ask(path, signal) {
  const r = await fetch(path, { signal, headers: bearer(), credentials: "omit" });
  if (r.ok) return r.json();
  throw await refusal(r);
}

// send posts JSON; an error is what den says.
export async function send(path, body) {
  const r = await fetch(path, { method: "POST", credentials: "omit", headers: { ...bearer(), "Content-Type": "application/json" }, body: JSON.stringify(body) });
  if (r.ok) return r.json();
  throw await refusal(r);
}

// refusal is what den says in an answer that is none.
async function refusal(r) {
  const body = await r.text();
  let said;
  try { said = JSON.parse(body).error; } catch { said = { message: body.trim() }; }
  return new Error(said.hint ? `${said.message} · ${said.hint}` : said.message);
}

// save downloads a file; an error is what den says. A link alone could not
// tell a file from an error.
export async function save(path) {
  const r = await fetch(path, { headers: bearer(), credentials: "omit" });
  if (!r.ok) throw await refusal(r);
  const name = /filename="?([^";]+)/.exec(r.headers.get("Content-Disposition") ?? "")?.[1] ?? "den";
  const a = document.createElement("a");
  a.href = URL.createObjectURL(await r.blob());
  a.download = name;
  a.click();
  setTimeout(() => URL.revokeObjectURL(a.href), 60000); // by then it is on its way
}

// Latest runs one task at a time; of those that come meanwhile only the last.
export class Latest {
  #busy = false;
  #next = null;

  run(task) {
    this.#next = task;
    if (!this.#busy) this.#drain();
  }

  async #drain() {
    this.#busy = true;
    while (this.#next) {
      const task = this.#next;
      this.#next = null;
      await task();
    }
    this.#busy = false;
  }
}
