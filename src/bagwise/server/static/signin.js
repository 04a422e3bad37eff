// Who answers. A token comes in the part of the address that is never sent (#token=...), or is pasted into the form.

const AGAIN = 1000;

let me = null;

const find = (id) => document.getElementById(id);

const post = (path, body) => fetch(path, {
  method: "POST",
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify(body),
});

// Called when the API answers 401; nothing is lost, what was not saved yet waits in the outbox.
export function signedOut() {
  if (find("sign-in").open) return;
  find("sign-in").showModal();
  find("token").focus();
}

async function signIn(token) {
  let response;
  try {
    response = await post("/api/sign-in", { token });
  } catch {
    return "The server cannot be reached: try again.";
  }
  const body = await response.json();
  if (!response.ok) return typeof body.detail === "string" ? body.detail : "This is not a token.";
  return null;
}

// What the server refuses where it is no longer so: another project may be served at this address now, and another person
// may have signed in on another page of this browser.
export function expected() {
  return me === null ? {} : { "Bagwise-Project": me.project, "Bagwise-Person": encodeURIComponent(me.name) };
}

// Under this name the browser keeps what is of this project and person.
export function whose() {
  return `${me.project}/${encodeURIComponent(me.name)}`;
}

// Called when the API answers 412; what was not saved yet stays in the outbox of whom it is from.
export function loadAgain() {
  location.reload();
}

// Who it is and which project; null where no one is signed in. Without knowing both, nothing can be answered.
async function whoAmI() {
  while (true) {
    const response = await fetch("/api/me").catch(() => null);
    if (response?.ok) return response.json();
    if (response?.status === 401) return null;
    await new Promise((resolve) => setTimeout(resolve, AGAIN));
  }
}

// Everything starts again with the person who is signed in now: what was fetched or kept in memory may be another person's.
async function signInWith(token) {
  const refused = await signIn(token);
  if (refused === null) location.reload();
  else find("sign-in-message").textContent = refused;
}

// The way in, before anything else is asked of the server: who it is, and which project.
export async function enter() {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (token !== null) {
    history.replaceState(null, "", location.pathname);
    signedOut();
    await signInWith(token);
  }
  me = await whoAmI();
  if (me === null) signedOut();
  // Signing in loads the page again: until then there is nothing to ask for.
  if (find("sign-in").open) await new Promise(() => {});
  find("me").hidden = !me.signed_in;
  find("me-name").textContent = me.name;
  return me;
}

find("sign-in").addEventListener("cancel", (event) => event.preventDefault());
find("sign-in-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  await signInWith(find("token").value.trim().split("#token=").at(-1));
});
find("sign-out").addEventListener("click", async () => {
  await post("/api/sign-out", {}).catch(() => null);
  location.reload();
});
