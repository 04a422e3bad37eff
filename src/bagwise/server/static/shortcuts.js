// Keys of a single character can be switched off: people who dictate, or lean on the keyboard, would answer by accident.

import { find } from "/static/dom.js";

const CHARACTERS = "bagwise-character-keys";

export function startShortcuts() {
  const box = find("character-keys");
  box.checked = localStorage.getItem(CHARACTERS) !== "false";
  const apply = () => document.body.classList.toggle("without-character-keys", !box.checked);
  box.addEventListener("change", () => {
    localStorage.setItem(CHARACTERS, box.checked);
    apply();
  });
  apply();
}

export function isOff(key) {
  return key.length === 1 && key !== " " && !find("character-keys").checked;
}
