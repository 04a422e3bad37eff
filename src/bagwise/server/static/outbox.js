// What was said and is not saved yet: kept in the browser, sent in order, sent again until the server has it.

const STORE = "bagwise-outbox";

export class Outbox {
  constructor(onChange, onSaved, onRefused) {
    this.onChange = onChange;
    this.onSaved = onSaved;
    this.onRefused = onRefused;
    this.waiting = JSON.parse(localStorage.getItem(STORE) ?? "[]");
    this.sending = false;
    this.done = new Map();
  }

  keys() {
    return new Set(this.waiting.map((one) => one.body.key));
  }

  send(path, body) {
    this.waiting.push({ path, body });
    this.#keep();
    const saved = new Promise((resolve) => this.done.set(body.key, resolve));
    this.#work();
    return saved;
  }

  resume() {
    this.#work();
  }

  #keep() {
    localStorage.setItem(STORE, JSON.stringify(this.waiting));
  }

  async #work() {
    if (this.sending) return;
    this.sending = true;
    while (this.waiting.length) {
      const { path, body } = this.waiting[0];
      try {
        if (document.querySelector("#sign-in[open]")) throw new Error("nobody is signed in");
        const response = await fetch(path, {
          method: "POST",
          headers: { "Content-Type": "application/json" },
          body: JSON.stringify(body),
        });
        if (response.status >= 500 || [401, 429].includes(response.status)) throw new Error("not now");
        const said = await response.json();
        this.waiting.shift();
        this.#keep();
        this.onChange(0);
        if (response.ok) this.onSaved(said);
        else this.onRefused(said.detail ?? "The server refused it.");
        this.done.get(body.key)?.();
        this.done.delete(body.key);
      } catch {
        this.onChange(this.waiting.length);
        await new Promise((resolve) => setTimeout(resolve, 700));
      }
    }
    this.sending = false;
  }
}
