// Tables and cells that a script makes of data.

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

// Cells of a table: text to show, value to sort by.
const ageCell = (seconds) => ({text: age(seconds), value: seconds});
const ratioCell = (ratio) => ({text: known(ratio) ? ratio.toFixed(2) + '×' : '–', value: ratio});
const countCell = (value) => ({text: count(value), value});

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

// A table that a reader can sort. Columns: 'name' or '#name' for numbers.
function table(caption, columns, rows) {
  const body = make('tbody');
  for (const row of rows) body.append(make('tr', {}, ...row.map((cell, i) => cellOf(cell, columns[i][0] === '#'))));
  const head = make('tr', {}, ...columns.map((name) => make('th', name[0] === '#' ? {class: 'number'} : {}, name.replace('#', ''))));
  const scroll = make('div', {class: 'scroll'}, make('table', {'aria-label': caption}, make('thead', {}, head), body));
  const box = make('div', {}, make('p', {class: 'caption'}, caption), scroll);
  enliven(scroll);
  return box;
}
