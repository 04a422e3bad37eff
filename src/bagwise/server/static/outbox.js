// Answers that are not saved yet: kept in the browser, sent in order, and again until the server has them.
// Each has an entry of its own in the browser's store, so that two tabs never overwrite each other's. The store belongs
// to the address, where other projects may be served and other people may sign in later: entries are kept by both, and
// wait until the same project is served to the same person again.

import { expected, loadAgain, whose } from "/static/signin.js";

const PREFIX = "bagwise-outbox/";
const AGAIN = 700;
const LATE = 3000; // What takes longer is not saved yet, and is said not to be.
const TOO_LONG = 60_000; // A connection that is dead may never say so; what is sent twice is saved once.
const NOT_NOW = [401, 412, 429];
const OTHER_PAGE = 412;

export class Outbox {
  constructor(onChange, onSaved, onRefused) {
    this.onChange = onChange;
    this.onSaved = onSaved;
    this.onRefused = onRefused;
    this.prefix = `${PREFIX}${whose()}/`;
    const names = Object.keys(localStorage).filter((name) => name.startsWith(this.prefix)).sort();
    this.waiting = names.map((name) => ({ name, ...JSON.parse(localStorage.getItem(name)) }));
    this.last = 0;
    this.sending = false;
    this.late = false; // Whether the page says how many wait.
    this.done = new Map();
  }

  keys() {
    return new Set(this.waiting.map((one) => one.body.key));
  }

  // Resolves with whether it was saved; what is refused is not sent again.
  send(path, body) {
    this.last = Math.max(this.last + 1, Date.now());
    const name = `${this.prefix}${this.last}-${body.key}`;
    this.waiting.push({ name, path, body });
    keep(name, { path, body });
    const saved = new Promise((resolve) => this.done.set(body.key, resolve));
    if (this.late) this.onChange(this.waiting.length);
    this.#work();
    return saved;
  }

  resume() {
    this.#work();
  }

  async #work() {
    if (this.sending) return;
    this.sending = true;
    try {
      while (this.waiting.length) await this.#sendFirst();
    } finally {
      this.late = false;
      this.sending = false;
    }
  }

  async #sendFirst() {
    const { name, path, body } = this.waiting[0];
    const late = setTimeout(() => this.#sayHowMany(), LATE);
    const answer = await post(path, body);
    clearTimeout(late);
    if (answer === null) {
      this.#sayHowMany();
      await new Promise((resolve) => setTimeout(resolve, AGAIN));
      return;
    }
    this.waiting.shift();
    localStorage.removeItem(name);
    // Once late, the page counts down: it must not say that all is saved while some answers still wait.
    this.onChange(this.late ? this.waiting.length : 0);
    this.done.get(body.key)?.(answer.ok);
    this.done.delete(body.key);
    if (answer.ok) this.onSaved(answer.body, body);
    else this.onRefused(typeof answer.body.detail === "string" ? answer.body.detail : "The server refused it.");
  }

  #sayHowMany() {
    this.late = true;
    this.onChange(this.waiting.length);
  }
}

// Where the browser's store is full, an answer waits in this page alone; it must not be lost for that.
function keep(name, entry) {
  try {
    localStorage.setItem(name, JSON.stringify(entry));
  } catch {
    // Nothing to do: it is sent from memory.
  }
}

// The response of the server, or null where it has to be sent again.
async function post(path, body) {
  try {
    if (document.querySelector("#sign-in[open]")) return null;
    const response = await fetch(path, {
      method: "POST",
      headers: { "Content-Type": "application/json", ...expected() },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(TOO_LONG),
    });
    if (response.status === OTHER_PAGE) loadAgain();
    if (response.status >= 500 || NOT_NOW.includes(response.status)) return null;
    return { ok: response.ok, body: await response.json() };
  } catch {
    return null;
  }
}
