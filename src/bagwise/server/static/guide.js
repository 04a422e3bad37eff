// What is said of the class that is asked about: its other names, what belongs to it, and an example to look at or hear.

import { find, make } from "/static/dom.js";

export function showGuide(question) {
  const guide = question?.classes.length === 1 ? question.guide : null;
  find("guide").hidden = !guide;
  if (!guide) return void find("guide").replaceChildren();
  const others = [guide.scientific_name, guide.common_name].filter((name) => name && name !== question.class_name);
  find("guide").replaceChildren(
    ...(guide.example ? [example(guide, question.class_name)] : []),
    make("div", {},
      ...(others.length ? [make("p", {}, make("i", {}, others.join(" · ")))] : []),
      ...guide.description.split(/\n+/).filter(Boolean).map((line) => make("p", {}, line))));
}

function example({ example: address, example_kind: kind }, name) {
  if (kind === "picture") return make("img", { src: address, alt: `An example of ${name}` });
  return make("audio", { src: address, controls: true, preload: "none", "aria-label": `An example of ${name}` });
}
