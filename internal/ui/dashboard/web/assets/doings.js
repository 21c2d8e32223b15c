// What a page may do with the session on the stage, where den was started with
// --allow-actions: answer what it asks, send its agent a message, take its
// terminal over, stop it.

import { TakeOver } from "./takeover.js";
import { send } from "./wire.js";
import { $, el, isActive, shortName, visible } from "./words.js";

export class Doings {
  may = false;
  #session = null;
  #agent = null;
  #asked = ""; // what is shown of a question

  constructor(stage) {
    this.stage = stage;
    this.taken = new TakeOver(stage, (why) => this.#changed(why));
    $("take").onclick = () => this.take();
    $("message").onclick = () => this.#compose();
    $("halt").onclick = () => this.#askToStop();
    $("message-form").onsubmit = (e) => { e.preventDefault(); this.#message(); };
    $("message-text").onkeydown = (e) => { if (e.key === "Enter" && !e.shiftKey && !e.isComposing) { e.preventDefault(); this.#message(); } else if (e.key === "Escape") this.#compose(); };
    $("halt-form").onsubmit = (e) => { if (e.submitter?.value === "stop") this.#stop(); };
  }

  allow(may) { this.may = may; }

  // show takes the session on the stage, its agent or null, and what of the agent
  // waits for a person.
  show(session, agent, waiting) {
    if (this.taken.id && this.taken.id !== session?.id) this.taken.stop();
    this.#session = session;
    this.#agent = agent;
    const can = this.may && session && !session.base && isActive(session);
    $("doings").hidden = !this.may || !session || (!can && !agent);
    $("take").hidden = !can;
    $("message").hidden = !(can && agent);
    $("halt").hidden = !can && !(this.may && agent);
    $("halt").textContent = agent ? (agent.wanted === "running" ? "Stop agent" : "Start agent") : "Stop";
    this.#ask(can ? this.#question(session, agent, waiting) : null);
  }

  // question is what can be answered here: options of an agent's question, or
  // what a cell asks.
  #question(session, agent, waiting) {
    const asks = waiting.find((w) => w.kind === "question");
    if (asks) {
      const prefix = `question:${asks.agent}:`, options = asks.actions.filter((x) => /^\d+: /.test(x.name)).map((x) => x.name.replace(/^\d+: /, ""));
      return { key: asks.id, what: asks.what, options, send: (option) => send("/api/answers", { agent: asks.agent, question: asks.id.slice(prefix.length), option }) };
    }
    const a = session.attention ?? {};
    if (a.state !== "asking" || a.source !== "cell") return null;
    return { key: `${session.id} ${a.since}`, what: a.what ?? "", words: (text) => send("/api/cells", { session: session.id, question: /^the program waits for /.test(a.what) ? "" : a.what, text }) };
  }

  // ask shows the question, and leaves it alone while it is the same: somebody
  // may be typing.
  #ask(q) {
    const box = $("asked");
    box.hidden = !q;
    if ((q?.key ?? "") === this.#asked) return;
    this.#asked = q?.key ?? "";
    if (!q) return box.replaceChildren();
    const result = el("span.result", { role: "status" });
    const run = async (what) => {
      result.dataset.tone = "busy";
      result.textContent = "Answering …";
      try {
        await what();
        result.textContent = "Answered.";
      } catch (err) {
        result.dataset.tone = "bad";
        result.textContent = err.message;
      }
    };
    box.replaceChildren(el("b", {}, visible(q.what)), ...(q.words ? [answerField(q, run)] : q.options.map((label, i) => el("button", { type: "button", onclick: () => run(() => q.send(i + 1)) }, el("kbd", { textContent: i + 1, "aria-hidden": "true" }), " ", visible(label)))), result);
  }

  take() {
    if (!this.may || !this.#session || $("take").hidden) return;
    if (this.taken.id) return this.taken.stop();
    this.stage.newest();
    this.taken.start(this.#session);
  }

  #changed(why) {
    const on = document.body.dataset.taken === "yes";
    $("take").textContent = on ? "Leave" : "Take over";
    $("take").setAttribute("aria-pressed", on);
    this.#say(on ? "What you type goes to the program. Ctrl-\\ twice leaves." : why, on || !why || why.endsWith("…") ? "busy" : "bad");
    if (!on && !why) $("screen").focus({ preventScroll: true });
  }

  #say(text, tone = "busy") {
    $("doing").hidden = !text;
    $("doing").dataset.tone = tone;
    $("doing").textContent = text;
  }

  #compose() {
    const form = $("message-form");
    form.hidden = !form.hidden;
    if (!form.hidden) $("message-text").focus();
  }

  async #message() {
    const box = $("message-text"), text = box.value.trim(), agent = this.#agent?.name;
    if (!text || !agent) return;
    this.#say("Sending …");
    try {
      await send("/api/messages", { agent, text });
      box.value = "";
      $("message-form").hidden = true;
      this.#say(`Sent to ${agent}: it is delivered when the agent can take it.`);
    } catch (err) {
      this.#say(err.message, "bad");
    }
  }

  #askToStop() {
    const agent = this.#agent;
    if (agent && agent.wanted !== "running") return this.#order("start");
    $("halt-title").textContent = agent ? `Stop agent ${agent.name}?` : `Stop ${shortName(this.#session)}?`;
    $("halt-what").textContent = agent ? "It ends, and stays stopped until it is started again." : "Its program and all that it started are ended. What was recorded stays.";
    $("stopping").showModal();
  }

  #stop() {
    if (this.#agent) return this.#order("stop");
    this.#does("Stopping …", () => send("/api/stops", { session: this.#session.id }));
  }

  #order(order) { this.#does(order === "stop" ? "Stopping …" : "Starting …", () => send("/api/orders", { agent: this.#agent.name, order })); }

  async #does(words, what) {
    this.#say(words);
    try {
      await what();
      this.#say("");
    } catch (err) {
      this.#say(err.message, "bad");
    }
  }

  // closed forgets the session that was shown.
  closed() {
    this.#say("");
    $("message-form").hidden = true;
    this.show(null, null, []);
  }
}

// answerField is a field for words, which may be a secret: nothing completes it.
function answerField(q, run) {
  const input = el("input", { type: "text", autocomplete: "off", spellcheck: false, "aria-label": "Answer" });
  return el("form", { onsubmit: (e) => { e.preventDefault(); run(async () => { await q.words(input.value); input.value = ""; }); } }, input, el("button", { textContent: "Answer" }));
}
