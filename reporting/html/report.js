// What a script adds to a run's report: its tables sort and filter, its keys are copied as commands, its charts are drawn.

const page = document.getElementById('page');
const drawings = JSON.parse(document.getElementById('data').textContent);
const kDrawn = {lanes: lanesOf, flames: flamesOf};

function copy(text, button) {
  const done = () => { button.textContent = 'copied'; setTimeout(() => { button.textContent = 'copy command'; }, 1500); };
  const byHand = () => {
    const field = make('textarea', {'aria-hidden': 'true'}, text);
    document.body.append(field);
    field.select();
    if (document.execCommand('copy')) done();
    field.remove();
  };
  if (navigator.clipboard) navigator.clipboard.writeText(text).then(done, byHand);
  else byHand();
}

// Lets a reader copy the command that measures a layer again.
function offerCommand(key) {
  const code = key.firstElementChild, command = "plumb layer '" + code.textContent + "'";
  const button = make('button', {type: 'button', title: command}, 'copy command');
  code.title = code.textContent;
  button.addEventListener('click', () => copy(command, button));
  key.append(button);
}

// A field that shows only the rows of a table that contain what is typed.
function filterOf(box, label) {
  const search = make('input', {type: 'search', placeholder: 'filter layers', 'aria-label': label});
  search.addEventListener('input', () => {
    const wanted = search.value.toLowerCase();
    box.classList.toggle('filtered', wanted !== '');
    for (const row of box.querySelectorAll('tbody tr')) row.hidden = !row.textContent.toLowerCase().includes(wanted);
  });
  return search;
}

// Draws what is in a part of the page and not in a fold that is closed: there it would have no width.
function draw(part) {
  for (const box of part.querySelectorAll('[data-chart]')) {
    if (box.closest('details:not([open])')) continue;
    const {drawing, label, height, data} = drawings[box.dataset.chart];
    box.replaceWith(...(kDrawn[drawing] ? kDrawn[drawing](label, data) : [chart(label, height, kCharts[drawing](data))]));
  }
  if (document.body.dataset.ready) drawWaiting();
}

for (const key of document.querySelectorAll('.key')) offerCommand(key);
for (const box of document.querySelectorAll('.scroll')) {
  if (!box.querySelector('.listing')) enliven(box);
  if (box.dataset.filter) box.before(filterOf(box, box.dataset.filter));
}
draw(page);
document.addEventListener('toggle', (event) => draw(event.target), true);
window.addEventListener('beforeprint', () => {
  for (const fold of page.querySelectorAll(':scope > details')) fold.open = true;
  draw(page);
});
finish();
