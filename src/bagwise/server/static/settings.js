// How a person likes to see and hear: kept in the browser, by project and person as in the outbox.

import { whose } from "/static/signin.js";

const PREFIX = "bagwise-view/";

export function remembered(name, usual) {
  return kept()[name] ?? usual;
}

export function remember(name, value) {
  localStorage.setItem(PREFIX + whose(), JSON.stringify({ ...kept(), [name]: value }));
}

function kept() {
  return JSON.parse(localStorage.getItem(PREFIX + whose()) ?? "{}");
}
