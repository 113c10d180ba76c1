'use strict';
// What the report is made of: elements, quantities, tables, charts. All text enters the page as textContent: nothing from
// a model, a library or a file is ever parsed as markup.

const kRowsShown = 50;
const kPalette = ['#1f6feb', '#e16f24', '#2da44e', '#8250df', '#bf8700', '#0a9396', '#d6409f', '#8c6d46', '#54aeff', '#9a9fa6'];
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

function count(value) {
  if (!known(value)) return '–';
  for (const [size, unit] of [[1e12, ' T'], [1e9, ' G'], [1e6, ' M'], [1e3, ' k']]) {
    if (Math.abs(value) >= size) return digits(value / size) + unit;
  }
  return String(value);
}

function age(seconds) {
  if (!known(seconds)) return '–';
  if (seconds >= 172800) return Math.round(seconds / 86400) + ' d';
  if (seconds >= 7200) return Math.round(seconds / 3600) + ' h';
  if (seconds >= 120) return Math.round(seconds / 60) + ' min';
  return Math.round(seconds) + ' s';
}

const moment = (text) => text ? text.slice(0, 16).replace('T', ' ') + ' UTC' : '–';
const interval = (low, high) => known(low) ? time(low) + ' … ' + time(high) : '–';

// Cells of a table: text to show, value to sort by.
const timeCell = (seconds) => ({text: time(seconds), value: seconds});
const ageCell = (seconds) => ({text: age(seconds), value: seconds});
const ratioCell = (ratio) => ({text: known(ratio) ? ratio.toFixed(2) + '×' : '–', value: ratio});
const spreadCell = (step) => {
  const half = step.seconds > 0 && known(step.low) ? 50 * (step.high - step.low) / step.seconds : null;
  return {text: known(half) ? half.toFixed(1) + ' %' : '–', value: half};
};
const countCell = (value) => ({text: count(value), value});

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

function keyCell(key) {
  if (!key) return '–';
  const command = "plumb layer '" + key + "'";
  const button = make('button', {type: 'button', title: command}, 'copy command');
  button.addEventListener('click', () => copy(command, button));
  return {node: make('div', {class: 'key'}, make('code', {tabindex: '0', title: key}, key), button), value: null};
}

// A commit as a link, if plumb was told the address of commits; plumb has checked its scheme.
const commitLink = (commit, address) => address ? make('a', {href: address, rel: 'noreferrer'}, commit.slice(0, 12)) : document.createTextNode(commit.slice(0, 12));

const codeCell = (text) => ({node: make('code', {class: 'long'}, text), value: null});

function cellOf(content, numeric) {
  const cell = make('td', numeric ? {class: 'number'} : {});
  if (content && typeof content === 'object') {
    cell.append(content.node || content.text);
    cell.dataset.value = known(content.value) ? content.value : '';
  } else {
    cell.append(content);
  }
  return cell;
}

// A table whose columns sort when their heading is clicked, cut after its first rows. Columns: 'name' or '#name' for numbers.
function table(caption, columns, rows) {
  const body = make('tbody');
  for (const row of rows) body.append(make('tr', {}, ...row.map((cell, i) => cellOf(cell, columns[i][0] === '#'))));
  const head = make('tr');
  columns.forEach((name, index) => {
    const heading = make('th', Object.assign({scope: 'col', tabindex: '0'}, name[0] === '#' ? {class: 'number'} : {}), name.replace('#', ''));
    heading.addEventListener('click', () => sort(body, head, heading, index));
    heading.addEventListener('keydown', (event) => { if (event.key === 'Enter') sort(body, head, heading, index); });
    head.append(heading);
  });
  const box = make('div', {}, make('p', {class: 'caption'}, caption),
    make('div', {class: 'scroll'}, make('table', {'aria-label': caption}, make('thead', {}, head), body)));
  if (rows.length > kRowsShown) {
    box.classList.add('cut');
    const all = make('button', {type: 'button', class: 'all'}, 'show all ' + rows.length + ' rows');
    all.addEventListener('click', () => { box.classList.remove('cut'); all.remove(); });
    box.append(all);
  }
  return box;
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

// A field that shows only the rows of a table that contain what is typed.
function filterOf(view, label) {
  const search = make('input', {type: 'search', placeholder: 'filter layers', 'aria-label': label});
  const cut = view.classList.contains('cut');
  search.addEventListener('input', () => {
    const wanted = search.value.toLowerCase();
    if (cut && view.querySelector('button.all')) view.classList.toggle('cut', wanted === '');
    for (const row of view.querySelectorAll('tbody tr')) row.hidden = !row.textContent.toLowerCase().includes(wanted);
  });
  return search;
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

// A logarithmic axis that names only powers of ten and, where there are few, their halves and fifths.
function logarithmic(text, decades) {
  const lead = decades > 3 ? [1] : [1, 2, 5];
  return {type: 'logarithmic', title: {display: true, text}, ticks: {maxRotation: 0, autoSkip: false, callback: (value) => {
    const first = Number(value.toExponential()[0]);
    return lead.includes(first) ? String(Number(value.toPrecision(1))) : null;
  }}};
}
