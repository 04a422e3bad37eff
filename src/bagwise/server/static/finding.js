// Find more like this: from an instance, from a bag, or from a file that is dropped on the page.

import { whereabouts } from "/static/bag.js";
import { find, inBase64, post } from "/static/dom.js";
import { nameOf } from "/static/instances.js";
import { showSource } from "/static/predictions.js";

const MOST_BYTES = 72e6;

let accepts = false;

// `acceptsFiles`: whether the server can segment a file as those of the project were.
export function startFinding(acceptsFiles) {
  accepts = acceptsFiles;
  find("belief-file").parentElement.hidden = !accepts;
  find("belief-file").addEventListener("change", ({ target }) => {
    if (target.files.length) findLikeFile(target.files[0]);
    target.value = "";
  });
  for (const name of ["dragenter", "dragover"]) document.addEventListener(name, over);
  for (const name of ["dragleave", "drop"]) document.addEventListener(name, () => document.body.classList.remove("dropping"));
  document.addEventListener("drop", (event) => {
    const file = event.dataTransfer?.files[0];
    if (!file) return;
    event.preventDefault();
    findLikeFile(file);
  });
}

// Without this the browser would open what is dropped.
function over(event) {
  if (!event.dataTransfer?.types.includes("Files")) return;
  event.preventDefault();
  document.body.classList.toggle("dropping", accepts);
}

// Without an instance it is all of the bag; without a class it stays the one that is chosen.
export function findSimilar(bag, instance = null, name = "") {
  if (name) find("belief-class").value = name;
  const what = instance === null ? "" : `${nameOf(bag, instance)} of `;
  show({ bag: bag.id, instance }, `${what}${whereabouts(bag)}`);
}

async function findLikeFile(file) {
  location.hash = "#predictions";
  const before = find("belief-source").textContent;
  find("belief-source").textContent = `Looking into ${file.name}…`;
  try {
    if (file.size > MOST_BYTES) throw new Error(`${file.name} has more than ${MOST_BYTES / 1e6} MB: give a part of it.`);
    const { file: key, instances } = await post("/api/similar/files", { name: file.name, content: await inBase64(file) });
    show({ file: key }, `${file.name}, ${instances === 1 ? "one instance" : `${instances} instances`}`);
  } catch (error) {
    find("belief-source").textContent = before;
    find("belief-message").textContent = error.message;
  }
}

function show(query, words) {
  showSource({ path: "/api/similar", title: "More like this", words: `The nearest to ${words}, one for each bag.`, ordered: false, query });
}
