// Takes the token from the fragment or from the form and exchanges it for a cookie of this session.
// The fragment never leaves the browser.
"use strict";

const AGAIN_MS = 1000;

function refuse(text) {
  document.getElementById("refused").textContent = text;
  document.getElementById("refused").hidden = false;
}

async function signIn(token) {
  try {
    const answer = await fetch("/session", { method: "POST", headers: { Authorization: "Bearer " + token } });
    if (answer.ok) location.replace("/");
    else refuse("This is not the token of the running process. A new start has a new one.");
  } catch {
    refuse("The host does not answer.");
    setTimeout(() => signIn(token), AGAIN_MS);
  }
}

document.getElementById("sign-in").addEventListener("submit", (event) => {
  event.preventDefault();
  signIn(document.getElementById("token").value.trim());
});

const given = new URLSearchParams(location.hash.slice(1)).get("token");
if (given !== null) signIn(given);
