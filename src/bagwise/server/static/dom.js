// Small helpers: elements from names and text (never from HTML), and responses of the API.

import { expected, loadAgain, signedOut } from "/static/signin.js";

export const find = (id) => document.getElementById(id);
// Not `crypto.randomUUID`, which browsers have on https and on this machine only.
export const newKey = () => [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
export const percent = (value) => `${Math.round(100 * value)} %`;
export const counted = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;
export const WORDS = { present: "yes", absent: "no", unsure: "unsure", skipped: "skipped" };

export function make(name, attributes = {}, ...children) {
  const found = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) found.addEventListener(key.slice(2), value);
    else if (value === true) found.setAttribute(key, "");
    else if (value !== false && value !== null) found.setAttribute(key, value);
  }
  found.append(...children);
  return found;
}

export async function get(path, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== "" && value !== null);
  return read(await fetch(given.length ? `${path}?${new URLSearchParams(given)}` : path, { headers: expected() }));
}

// For what is not an answer: answers go through the outbox, which keeps them until they are saved.
export async function post(path, body) {
  return read(await fetch(path, { method: "POST", headers: { "Content-Type": "application/json", ...expected() }, body: JSON.stringify(body) }));
}

async function read(response) {
  if (response.status === 401) signedOut();
  if (response.status === 412) loadAgain();
  if (!response.ok) {
    const { detail } = await response.json();
    throw Object.assign(new Error(typeof detail === "string" ? detail : "The server refused it."), { status: response.status });
  }
  return response.json();
}

// The bytes of a file as text, as the API takes them.
export function inBase64(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => resolve(reader.result.slice(reader.result.indexOf(",") + 1)));
    reader.addEventListener("error", () => reject(new Error(`${file.name} cannot be read.`)));
    reader.readAsDataURL(file);
  });
}
