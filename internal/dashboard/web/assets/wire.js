// The connection to den. The page says what it shows, and when it has drawn
// what it was sent: den sends the next screens then, and always the newest. A
// hidden page draws nothing, so it asks for nothing.

export class Wire {
  #socket = null;
  #asked = { thumbs: [], large: "" };
  #wait = 250;

  // heard takes each message; state takes "connecting", "live" and "lost".
  constructor(heard, state) {
    this.heard = heard;
    this.state = state;
    document.addEventListener("visibilitychange", () => this.#ask());
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
    const socket = this.#socket = new WebSocket(`ws://${location.host}/live`);
    socket.onopen = () => {
      this.#wait = 250;
      this.state("live");
      this.#ask();
    };
    socket.onmessage = (event) => requestAnimationFrame(() => {
      if (socket !== this.#socket) return;
      const m = JSON.parse(event.data);
      this.heard(m);
      this.#say({ ack: m.n });
    });
    socket.onclose = () => {
      this.state("lost");
      setTimeout(() => this.#connect(), this.#wait);
      this.#wait = Math.min(this.#wait * 2, 5000);
    };
  }
}

// ask fetches one answer; an error is what den says.
export async function ask(path, signal) {
  const r = await fetch(path, { signal, credentials: "same-origin" });
  if (r.ok) return r.json();
  throw await refusal(r);
}

// send posts JSON with the token of the page; an error is what den says.
export async function send(path, token, body) {
  const r = await fetch(path, {
    method: "POST", credentials: "same-origin", headers: { "Content-Type": "application/json", "X-Den-Actions": token }, body: JSON.stringify(body),
  });
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
  const r = await fetch(path, { credentials: "same-origin" });
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
