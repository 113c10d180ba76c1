'use strict';
// Sends a decision about the chosen changes, with the token in a header that no other site can send.

const form = document.getElementById('decide');
const said = document.getElementById('said');
form.addEventListener('submit', async (event) => {
  event.preventDefault();
  const changes = [...document.querySelectorAll('input[name="change"]:checked')].map((box) => box.value);
  const answer = await fetch('/triage', {
    method: 'POST',
    headers: {'Authorization': 'Bearer ' + form.elements.token.value, 'Content-Type': 'application/json'},
    body: JSON.stringify({action: form.elements.decision.value, text: form.elements.text.value, who: form.elements.who.value, changes}),
  });
  said.textContent = await answer.text();
  if (answer.ok) location.reload();
});
