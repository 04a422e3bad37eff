// The classes of the project: added, renamed, described, merged and retired here while others answer.

import { find, get, inBase64, make, post } from "/static/dom.js";

const LARGEST_EXAMPLE = 10_000_000;
const NAMES = ["scientific_name", "common_name", "description"];

let known = { classes: [], may_change: false };
let edited = null; // The class in the dialog; null where it is a new one.
let onChange = () => {};

// `changed` is called with the names of all classes that are asked about.
export function startClassList(changed) {
  onChange = changed;
  find("class-add").addEventListener("click", () => edit(null));
  find("class-cancel").addEventListener("click", () => find("class-dialog").close());
  find("class-form").addEventListener("submit", (event) => {
    event.preventDefault();
    save();
  });
  find("merge-form").addEventListener("submit", (event) => {
    event.preventDefault();
    merge();
  });
  find("class-rows").addEventListener("change", count);
}

export const isActive = (one) => !one.retired && one.merged_into === null;

// All classes, fetched again: another person may have changed them.
export async function fetchClasses() {
  take(await get("/api/classes"));
  return known;
}

function take(found) {
  known = found;
  onChange(known.classes.filter(isActive).map((one) => one.name));
}

export async function showClassList() {
  try {
    await fetchClasses();
  } catch (error) {
    say(error.message);
    return;
  }
  draw();
}

// A change, by its name in the API; whether it was made. The sentence of a refusal is shown.
export async function change(what, body, message = find("class-message")) {
  try {
    take(await post(`/api/classes${what}`, body));
    return true;
  } catch (error) {
    // What `fetch` throws is no sentence for people.
    message.textContent = error instanceof TypeError ? "The server cannot be reached: nothing was changed. Try again." : error.message;
    return false;
  }
}

const say = (sentence) => (find("class-message").textContent = sentence);

function draw() {
  find("class-add").hidden = !known.may_change;
  find("class-why").hidden = known.may_change;
  find("class-rows").replaceChildren(...known.classes.filter(isActive).map(row));
  const retired = known.classes.filter((one) => one.retired && !one.split);
  find("class-retired").hidden = !retired.length;
  find("class-retired-rows").replaceChildren(...retired.map((one) => make("li", {}, make("b", {}, one.name), " ",
    ...(known.may_change ? [button("Ask again", `Ask about ${one.name} again`, () => act("/restore", { name: one.name }, `${one.name} is asked about again.`))] : []))));
  count();
}

function button(text, label, onclick) {
  return make("button", { type: "button", "aria-label": label, onclick }, text);
}

function row(one) {
  const others = [one.scientific_name, one.common_name].filter((name) => name && name !== one.name);
  const buttons = known.may_change ? [
    button("Edit", `Edit ${one.name}`, () => edit(one)),
    one.members.length
      ? button("Split", `Split ${one.name} again`, () => act("/split", { name: one.name }, `${one.name} is split again.`))
      : button("Retire", `Retire ${one.name}`, () => act("/retire", { name: one.name }, `${one.name} is asked about no more; its answers are kept.`)),
  ] : [];
  return make("li", {},
    ...(known.may_change ? [make("input", { type: "checkbox", value: one.name, "aria-label": `Choose ${one.name} to merge` })] : []),
    make("div", { class: "about" },
      make("p", {}, make("b", {}, one.name), ...others.flatMap((name) => [" ", make("i", {}, name)])),
      ...(one.description ? [make("p", { class: "note" }, one.description)] : []),
      ...(one.members.length ? [make("p", { class: "note" }, `merged from ${one.members.join(", ")}`)] : [])),
    make("div", { class: "class-buttons" }, ...buttons));
}

const chosen = () => [...document.querySelectorAll("#class-rows input:checked")].map((box) => box.value);

function count() {
  const names = chosen();
  find("merge-bar").hidden = names.length < 2;
  find("merge-names").textContent = names.join(" + ");
  if (!names.includes(find("merge-into").value)) find("merge-into").value = names[0] ?? "";
}

async function act(what, body, done) {
  if (!(await change(what, body))) return;
  draw();
  say(done);
}

async function merge() {
  const [names, into] = [chosen(), find("merge-into").value];
  await act("/merge", { names, into }, `${names.join(" and ")} are one class now: ${into}.`);
}

function edit(one) {
  edited = one;
  find("class-dialog-title").textContent = one ? `Edit ${one.name}` : "Add a class";
  find("class-form").reset();
  find("class-error").textContent = "";
  if (one) for (const name of ["name", ...NAMES]) find(`class-${name.replace("_", "-")}`).value = one[name];
  find("class-dialog").showModal();
  find("class-name").focus();
}

async function save() {
  const given = Object.fromEntries(["name", ...NAMES].map((name) => [name, find(`class-${name.replace("_", "-")}`).value.trim()]));
  const error = find("class-error");
  const [file] = find("class-example").files;
  if (file && file.size > LARGEST_EXAMPLE) return void (error.textContent = "The example has more than 10 MB: give a few seconds, or a smaller picture.");
  if (!edited && !(await change("", given, error))) return;
  if (edited && given.name !== edited.name && !(await change("/rename", { name: edited.name, to: given.name }, error))) return;
  if (edited) edited = { ...edited, name: given.name }; // It has this name, even if what follows is refused.
  const details = edited ? Object.fromEntries(NAMES.filter((name) => given[name] !== edited[name]).map((name) => [name, given[name]])) : {};
  if (file) details.example = { file: file.name, content: await inBase64(file) };
  if (Object.keys(details).length && !(await change("/describe", { name: given.name, ...details }, error))) return;
  find("class-dialog").close();
  draw();
  say(`Saved: ${given.name}.`);
}
