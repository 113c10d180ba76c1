'use strict';
// What pages are made of: elements, quantities, tables, charts. All text enters the page as textContent: nothing from
// a model, a library or a file is ever parsed as markup.

const kRowsShown = 50;
const waiting = [];

// make('td', {class: 'number'}, 'text', child…)
function make(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) node.setAttribute(name, value);
  for (const child of children) if (child !== null) node.append(child);
  return node;
}

function svg(tag, attributes, text) {
  const node = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text !== undefined) node.textContent = text;
  return node;
}

const known = (value) => value !== null && value !== undefined;

function digits(value) {
  const size = Math.abs(value);
  return value.toFixed(size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : 3);
}

function time(seconds) {
  if (!known(seconds)) return '–';
  const size = Math.abs(seconds);
  if (size >= 1) return digits(seconds) + ' s';
  if (size >= 1e-3) return digits(seconds * 1e3) + ' ms';
  if (size >= 1e-6) return digits(seconds * 1e6) + ' µs';
  return digits(seconds * 1e9) + ' ns';
}

// Lets a reader sort a table by its headings, and cuts it after its first rows. `box` is around the table alone.
function enliven(box) {
  const table = box.firstElementChild, head = table.tHead.rows[0], body = table.tBodies[0], rows = body.rows.length;
  [...head.cells].forEach((heading, index) => {
    heading.scope = 'col';
    heading.tabIndex = 0;
    heading.addEventListener('click', () => sort(body, head, heading, index));
    heading.addEventListener('keydown', (event) => { if (event.key === 'Enter') sort(body, head, heading, index); });
  });
  if (rows > kRowsShown) {
    box.classList.add('cut');
    const all = make('button', {type: 'button', class: 'all'}, 'show all ' + rows + ' rows');
    all.addEventListener('click', () => { box.classList.remove('cut'); all.remove(); });
    box.after(all);
  }
}

function sort(body, head, heading, index) {
  const descending = heading.getAttribute('aria-sort') !== 'descending';
  for (const other of head.children) other.removeAttribute('aria-sort');
  heading.setAttribute('aria-sort', descending ? 'descending' : 'ascending');
  const value = (row) => {
    const cell = row.children[index];
    if (cell.dataset.value) return Number(cell.dataset.value);
    return heading.classList.contains('number') ? -Infinity : cell.textContent;
  };
  const rows = [...body.children].sort((a, b) => {
    const left = value(a), right = value(b);
    const order = typeof left === 'number' ? (left > right) - (left < right) : left.localeCompare(right);
    return descending ? -order : order;
  });
  body.append(...rows);
}

function style(name) { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); }

function chart(label, height, configuration) {
  const canvas = make('canvas', {role: 'img', 'aria-label': label});
  const box = make('div', {class: 'chart', style: 'height:' + height + 'px'}, canvas);
  Chart.defaults.color = style('--ink');
  Chart.defaults.borderColor = style('--line');
  configuration.options = Object.assign({animation: false, responsive: true, maintainAspectRatio: false}, configuration.options);
  waiting.push(() => new Chart(canvas, configuration));
  return box;
}

// Draws the charts whose boxes are on the page by now, and counts all that are drawn.
function drawWaiting() {
  const drawn = waiting.splice(0).map((draw) => draw()).length;
  document.body.dataset.charts = Number(document.body.dataset.charts || 0) + drawn;
}

// Draws the charts and says that the page is complete.
function finish() {
  drawWaiting();
  document.body.dataset.ready = 'yes';
}
