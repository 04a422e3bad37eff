// Notes: what a person wants to remember about a question. They are sent like answers, and nothing is learned from them.

import { find, make, newKey } from "/static/dom.js";

const dialog = find("note");

let asked = null;

export function startNotes(outbox) {
  const save = () => {
    const text = find("note-text").value.trim();
    dialog.close();
    if (!text) return;
    outbox.send("/api/notes", { key: newKey(), bag: asked.bag.id, class_name: asked.class_name, text });
    asked.notes.push({ annotator: "you", class_name: asked.class_name, text });
    if (document.body.dataset.shown === asked.key) showNotes(asked);
  };
  find("note-form").addEventListener("submit", (event) => {
    event.preventDefault();
    save();
  });
  find("note-text").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) save();
  });
  find("note-cancel").addEventListener("click", () => dialog.close());
}

export function openNote(question) {
  asked = question;
  find("note-title").textContent = `A note about ${question.class_name} in this ${question.bag_word}`;
  find("note-text").value = "";
  dialog.showModal();
}

export function showNotes(question) {
  const notes = question?.notes ?? [];
  find("notes").hidden = !notes.length;
  find("notes").replaceChildren(...notes.map((one) =>
    make("li", {}, make("b", {}, one.annotator), `${one.class_name && one.class_name !== question.class_name ? ` (${one.class_name})` : ""}: ${one.text}`)));
}
