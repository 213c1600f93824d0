// Takes the token from the fragment, or from the form, and keeps it as a cookie of this session. The
// fragment never leaves the browser.
"use strict";

const cookie = "perilune-" + location.port;

async function signIn(token) {
  const answer = await fetch("/api/status", { headers: { Authorization: "Bearer " + token } });
  if (!answer.ok) {
    document.getElementById("refused").hidden = false;
    return;
  }
  document.cookie = cookie + "=" + token + "; SameSite=Strict; Path=/";
  location.replace("/");
}

document.getElementById("sign-in").addEventListener("submit", (event) => {
  event.preventDefault();
  signIn(document.getElementById("token").value.trim());
});

const given = new URLSearchParams(location.hash.slice(1)).get("token");
if (given !== null) signIn(given);
