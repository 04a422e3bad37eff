// Many bags that probably have a class are answered sooner in one go than one by one: a line says when that pays.

import { find, get, make } from "/static/dom.js";

const EVERY = 20; // The beliefs about all bags are worked out for it: not after every answer.

let answers = 0;
let asked = 0; // Only the answer to the last request is shown.

export function likelyAfter(more) {
  answers += more;
  if (answers >= EVERY) showLikely();
}

export async function showLikely() {
  answers = 0;
  asked += 1;
  const mine = asked;
  let found = null;
  try {
    found = await get("/api/review/likely");
  } catch {
    // The line is a hint: it comes with a later answer.
  }
  if (mine !== asked) return;
  find("likely").hidden = found === null;
  if (found === null) return;
  const link = make("a", { href: "#predictions" }, "answer them at once");
  // The view reads the class when it is opened, which is after the click.
  link.addEventListener("click", () => {
    find("belief-class").value = found.class_name;
    find("belief-order").value = "most";
  });
  find("likely").replaceChildren(`${found.bags} more bags probably have `, make("b", {}, found.class_name), ": ", link, ".");
}
