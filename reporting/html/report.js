'use strict';
// Draws the report from the JSON document in #data. All text enters the page as textContent: nothing from a model, a
// library or a file is ever parsed as markup.

const report = JSON.parse(document.getElementById('data').textContent);
const page = document.getElementById('page');
let charts = 0;

// make('td', {class: 'number'}, 'text', child…)
function make(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) node.setAttribute(name, value);
  for (const child of children) if (child !== null) node.append(child);
  return node;
}

function digits(value) {
  const size = Math.abs(value);
  return value.toFixed(size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : 3);
}

function time(seconds) {
  if (seconds === null || seconds === undefined) return '–';
  const size = Math.abs(seconds);
  if (size >= 1) return digits(seconds) + ' s';
  if (size >= 1e-3) return digits(seconds * 1e3) + ' ms';
  if (size >= 1e-6) return digits(seconds * 1e6) + ' µs';
  return digits(seconds * 1e9) + ' ns';
}

function count(value) {
  for (const [size, unit] of [[1e12, ' T'], [1e9, ' G'], [1e6, ' M'], [1e3, ' k']]) {
    if (Math.abs(value) >= size) return digits(value / size) + unit;
  }
  return String(value);
}

function age(seconds) {
  if (seconds === null) return '–';
  if (seconds >= 172800) return Math.round(seconds / 86400) + ' d';
  if (seconds >= 7200) return Math.round(seconds / 3600) + ' h';
  if (seconds >= 120) return Math.round(seconds / 60) + ' min';
  return Math.round(seconds) + ' s';
}

function interval(low, high) {
  return low === undefined || low === null ? '' : time(low) + ' … ' + time(high);
}

// One cell: text, or {text, value (to sort by), node}
function cellOf(content, numeric) {
  const cell = make('td', numeric ? {class: 'number'} : {});
  if (content && typeof content === 'object') {
    cell.append(content.node || content.text);
    cell.dataset.value = content.value === null || content.value === undefined ? '' : content.value;
  } else {
    cell.append(content);
  }
  return cell;
}

// A table whose columns sort when their heading is clicked. Columns: 'name' or '#name' for numbers.
function table(caption, columns, rows) {
  const body = make('tbody');
  for (const row of rows) body.append(make('tr', {}, ...row.map((cell, i) => cellOf(cell, columns[i][0] === '#'))));
  const head = make('tr');
  columns.forEach((name, index) => {
    const heading = make('th', name[0] === '#' ? {class: 'number', scope: 'col'} : {scope: 'col'}, name.replace('#', ''));
    heading.addEventListener('click', () => sort(body, head, heading, index));
    head.append(heading);
  });
  return make('div', {class: 'scroll'}, make('table', {}, make('caption', {}, caption), make('thead', {}, head), body));
}

function sort(body, head, heading, index) {
  const descending = heading.getAttribute('aria-sort') !== 'descending';
  for (const other of head.children) other.removeAttribute('aria-sort');
  heading.setAttribute('aria-sort', descending ? 'descending' : 'ascending');
  const value = (row) => {
    const cell = row.children[index];
    if (cell.dataset.value === undefined) return cell.textContent;
    return cell.dataset.value === '' ? -Infinity : Number(cell.dataset.value);
  };
  const rows = [...body.children].sort((a, b) => {
    const left = value(a), right = value(b);
    const order = typeof left === 'number' && typeof right === 'number' ? left - right : String(left).localeCompare(String(right));
    return descending ? -order : order;
  });
  body.append(...rows);
}

function keyCell(key) {
  const command = "plumb layer '" + key + "'";
  const button = make('button', {type: 'button', title: command}, 'copy command');
  button.addEventListener('click', () => navigator.clipboard && navigator.clipboard.writeText(command));
  return {node: make('div', {class: 'key'}, make('code', {}, key), button), value: null};
}

function style(name) { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); }

function chart(label, height, configuration) {
  const canvas = make('canvas', {role: 'img', 'aria-label': label});
  const box = make('div', {class: 'chart', style: 'height:' + height + 'px'}, canvas);
  Chart.defaults.color = style('--quiet');
  Chart.defaults.borderColor = style('--line');
  configuration.options = Object.assign({animation: false, responsive: true, maintainAspectRatio: false}, configuration.options);
  requestAnimationFrame(() => { new Chart(canvas, configuration); charts += 1; document.body.dataset.charts = charts; });
  return box;
}

const kPalette = ['#8c959f', '#1f6feb', '#54aeff', '#8250df', '#2da44e', '#bf8700', '#cf222e', '#e16f24', '#0a7ea4', '#6e7781', '#a475f9', '#4d2d00'];
const title = (model) => model.model + ' b' + model.batch + ' ' + model.dtype;

function boundOf(model, kind, mode) {
  return model.bounds.find((bound) => bound.kind === kind && (!mode || bound.mode === mode || bound.mode === 'any'));
}

function header() {
  const run = report.header;
  const total = report.models.length;
  const whole = report.models.filter((m) => m.bounds.every((b) => b.complete)).length;
  const findings = report.models.flatMap((m) => m.findings.map((f) => title(m) + ': ' + f));
  page.append(
    make('h1', {}, 'How far is each model from its bound?'),
    make('p', {class: 'quiet'}, 'suite ' + run.suite + ' · stack ' + run.stack + ' (' + run.backend + ') · environment ' + run.environment +
      ' · run ' + run.run + ' · started ' + run.started + ' · ' + run.state));
  const box = make('div', {class: whole === total && run.state === 'finished' ? 'verdict' : 'verdict partial'},
    make('strong', {}, whole + ' of ' + total + ' models are completely measured. '),
    run.rows.ok + ' rows measured, ' + run.rows.reused + ' reused, ' + run.rows.failed + ' without a time.');
  if (findings.length) {
    const list = make('ul');
    for (const finding of findings.slice(0, 12)) list.append(make('li', {}, finding));
    if (findings.length > 12) list.append(make('li', {}, 'and ' + (findings.length - 12) + ' more, below'));
    box.append(list);
  }
  page.append(box);
}

function overview() {
  const kinds = [['hardware', ''], ['library', 'fusion'], ['library_parallel', 'fusion'], ['library', 'plain'], ['predicted', 'plain'], ['benanza_sequential', 'plain']];
  page.append(make('h2', {}, 'Models against their bounds'));
  page.append(chart('Bounds of every model in milliseconds, logarithmic', 90 + 74 * report.models.length, {
    type: 'bar',
    data: {
      labels: report.models.map(title),
      datasets: kinds.map(([kind, mode], i) => ({
        label: kind + (mode ? ' (' + mode + ')' : ''),
        backgroundColor: kPalette[i],
        data: report.models.map((m) => { const b = boundOf(m, kind, mode); return b && b.complete ? b.seconds * 1e3 : null; }),
      })),
    },
    options: {indexAxis: 'y', scales: {x: {type: 'logarithmic', title: {display: true, text: 'milliseconds'}}}},
  }));
  const rows = [];
  for (const model of report.models) {
    for (const bound of model.bounds) {
      rows.push([title(model), bound.kind, bound.mode, {text: time(bound.seconds), value: bound.seconds}, interval(bound.low, bound.high),
        bound.complete ? 'yes' : 'NO: ' + model.measured_layers + ' of ' + model.total_layers, {text: age(bound.oldest_row_seconds), value: bound.oldest_row_seconds}]);
    }
  }
  page.append(table('hardware, library and library_parallel are bounds; predicted is an estimate; benanza_* is the metric of the Benanza paper and no bound.',
    ['model', 'kind', 'mode', '#time', '#95% interval', 'complete', '#oldest row'], rows));
}

function operators() {
  const sums = new Map();
  report.models.forEach((model, index) => {
    for (const step of model.cover) {
      if (step.seconds === null) continue;
      if (!sums.has(step.op)) sums.set(step.op, report.models.map(() => 0));
      sums.get(step.op)[index] += step.seconds * 1e3;
    }
  });
  const all = [...sums].sort((a, b) => b[1].reduce((x, y) => x + y) - a[1].reduce((x, y) => x + y));
  page.append(make('h2', {}, 'Time by operator'));
  page.append(make('p', {class: 'quiet'}, 'Share of the library bound, with fusion, hot buffers.'));
  const totals = report.models.map((m, i) => all.reduce((sum, [, values]) => sum + values[i], 0));
  page.append(chart('Share of time by operator for every model', 80 + 30 * report.models.length, {
    type: 'bar',
    data: {labels: report.models.map(title), datasets: all.map(([op, values], i) => ({
      label: op, backgroundColor: kPalette[(i + 1) % kPalette.length], data: values.map((v, m) => totals[m] ? 100 * v / totals[m] : null)}))},
    options: {indexAxis: 'y', scales: {x: {stacked: true, max: 100, title: {display: true, text: '% of the bound'}}, y: {stacked: true}}},
  }));
}

function roofline() {
  const ceilings = report.calibration;
  if (!ceilings) return;
  const points = [];
  for (const model of report.models) {
    for (const step of model.cover) {
      if (step.seconds > 0 && step.flops > 0 && step.bytes > 0) {
        points.push({x: step.flops / step.bytes, y: step.flops / step.seconds / 1e9, name: title(model) + ' ' + step.name});
      }
    }
  }
  const peak = ceilings.peak_f32_flops_per_second / 1e9, slope = ceilings.memory_bytes_per_second / 1e9;
  const lowest = Math.min(0.05, ...points.map((p) => p.x)), highest = Math.max(1000, ...points.map((p) => p.x));
  page.append(make('h2', {}, 'Roofline'));
  page.append(make('p', {class: 'quiet'}, 'Each point is one layer; the lines are this machine\'s measured ceilings: ' + digits(peak) + ' GFLOP/s in f32, ' +
    digits(slope) + ' GB/s from memory. Points above the slope were served by caches (hot buffers).'));
  page.append(chart('Roofline: arithmetic rate against arithmetic intensity', 420, {
    type: 'scatter',
    data: {datasets: [
      {label: 'layers', data: points, backgroundColor: kPalette[1] + '99', pointRadius: 3},
      {label: 'measured ceilings', type: 'line', data: [{x: lowest, y: lowest * slope}, {x: peak / slope, y: peak}, {x: highest, y: peak}], borderColor: style('--critical'), pointRadius: 0},
    ]},
    options: {scales: {x: {type: 'logarithmic', title: {display: true, text: 'operations per byte'}}, y: {type: 'logarithmic', title: {display: true, text: 'GFLOP/s'}}},
      plugins: {tooltip: {callbacks: {label: (item) => item.raw.name ? item.raw.name + ': ' + digits(item.raw.y) + ' GFLOP/s' : ''}}}},
  }));
}

function svg(tag, attributes, text) {
  const node = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text !== undefined) node.textContent = text;
  return node;
}

// Draws the cover as a graph: time runs downwards, one lane a branch, box heights grow with time.
function graphOf(model) {
  const steps = model.cover, lane = [], rank = [], taken = new Map();
  steps.forEach((step, i) => { rank[i] = step.after.length ? Math.max(...step.after.map((p) => rank[p])) + 1 : 0; });
  steps.forEach((step, i) => {
    const used = taken.get(rank[i]) || new Set();
    let column = step.critical ? 0 : 1;
    const parent = step.after.find((p) => !steps[p].critical);
    if (!step.critical && parent !== undefined && lane[parent] > 0) column = lane[parent];
    while (used.has(column)) column += 1;
    used.add(column); taken.set(rank[i], used); lane[i] = column;
  });
  const depth = Math.max(0, ...rank) + 1, tallest = new Array(depth).fill(18), top = [];
  const slowest = Math.max(1e-12, ...steps.map((s) => s.seconds || 0));
  const heightOf = (step) => 18 + 46 * (step.seconds || 0) / slowest;
  steps.forEach((step, i) => { tallest[rank[i]] = Math.max(tallest[rank[i]], heightOf(step)); });
  let y = 10;
  for (let r = 0; r < depth; r += 1) { top[r] = y; y += tallest[r] + 14; }
  const columns = Math.max(0, ...lane) + 1, width = 250;
  const drawing = svg('svg', {width: columns * (width + 30) + 20, height: y + 10, role: 'img',
    'aria-label': 'Data flow of ' + title(model) + ', critical path highlighted'});
  const x = (i) => 10 + lane[i] * (width + 30);
  steps.forEach((step, i) => {
    for (const p of step.after) {
      const from = [x(p) + width / 2, top[rank[p]] + heightOf(steps[p])], to = [x(i) + width / 2, top[rank[i]]];
      const bend = (from[1] + to[1]) / 2;
      drawing.append(svg('path', {class: step.critical && steps[p].critical ? 'critical' : 'edge',
        d: `M${from[0]},${from[1]} C${from[0]},${bend} ${to[0]},${bend} ${to[0]},${to[1]}`}));
    }
  });
  steps.forEach((step, i) => {
    const state = step.seconds === null && !step.free ? 'missing' : step.critical ? 'critical' : 'plain';
    const box = svg('rect', {class: state, x: x(i), y: top[rank[i]], width, height: heightOf(step), rx: 3});
    box.append(svg('title', {}, step.name + '\n' + step.key + '\n' + (step.free ? 'no work' : time(step.seconds)) + (step.variant ? '\n' + step.variant : '')));
    const label = (step.name.length > 26 ? step.name.slice(0, 25) + '…' : step.name) + '  ' + (step.free ? '' : time(step.seconds));
    drawing.append(box, svg('text', {class: state, x: x(i) + 5, y: top[rank[i]] + 13}, label));
  });
  return make('div', {class: 'dag', tabindex: '0'}, drawing);
}

function whatIfs(model) {
  const rows = model.whatifs.map((w) => [w.name, {text: time(w.baseline_seconds), value: w.baseline_seconds}, {text: time(w.predicted_seconds), value: w.predicted_seconds},
    {text: w.predicted_speedup ? w.predicted_speedup.toFixed(2) + '×' : '–', value: w.predicted_speedup}, w.why_not ? 'not known: ' + w.why_not : w.mode]);
  const nodes = [table('What if…', ['what if', '#now', '#predicted', '#speed-up', 'how'], rows)];
  const best = model.whatifs.find((w) => w.name === 'best_variant');
  if (best && best.layers.length) {
    nodes.push(table('Variants the library should have picked', ['layer', '#its choice', '#fastest', '#saved', 'change'],
      best.layers.slice(0, 15).map((l) => [l.layer, {text: time(l.before_seconds), value: l.before_seconds}, {text: time(l.after_seconds), value: l.after_seconds},
        {text: time(l.before_seconds - l.after_seconds), value: l.before_seconds - l.after_seconds}, l.change])));
  }
  return nodes;
}

function layers(model) {
  const search = make('input', {type: 'search', placeholder: 'filter layers', 'aria-label': 'filter layers of ' + title(model)});
  const rows = model.cover.filter((s) => !s.free).sort((a, b) => (b.seconds || 0) - (a.seconds || 0)).map((s) => [s.name, s.op + (s.rewrite ? ' (' + s.rewrite + ')' : ''),
    {text: time(s.seconds), value: s.seconds}, interval(s.low, s.high), {text: s.samples ? String(s.samples) : '–', value: s.samples}, {text: count(s.macs), value: s.macs}, s.critical ? 'yes' : '', s.variant || '–', keyCell(s.key)]);
  const view = table('Layers as the library bound covers them, slowest first', ['layer', 'op', '#time', '#95% interval', '#n', '#MACs', 'critical', 'variant', 'key'], rows);
  search.addEventListener('input', () => {
    for (const row of view.querySelectorAll('tbody tr')) row.hidden = !row.textContent.toLowerCase().includes(search.value.toLowerCase());
  });
  return [search, view];
}

function models() {
  page.append(make('h2', {}, 'Model by model'));
  report.models.forEach((model, index) => {
    const box = make('details', index === 0 ? {open: ''} : {}, make('summary', {}, title(model) + ' — ' + model.measured_layers + ' of ' + model.total_layers + ' layers'));
    const fill = () => {
      if (box.dataset.filled) return;
      box.dataset.filled = 'yes';
      for (const finding of model.findings) box.append(make('p', {}, '! ' + finding));
      box.append(make('h3', {}, 'Critical path'), graphOf(model), make('h3', {}, 'What-ifs'), ...whatIfs(model), make('h3', {}, 'Layers'), ...layers(model));
      if (model.unsupported.length) {
        box.append(table('Layers without a time', ['layer', 'reason', 'key'], model.unsupported.map((u) => [u.layer, u.reason, keyCell(u.key)])));
      }
    };
    if (index === 0) fill();
    box.addEventListener('toggle', fill);
    window.addEventListener('beforeprint', () => { fill(); box.open = true; });
    page.append(box);
  });
}

function environment() {
  const box = make('details', {}, make('summary', {}, 'Environment and method'));
  const facts = (what, values) => table(what, ['name', 'value'], Object.entries(values).map(([name, value]) => [name, make('code', {}, value)].map((c) => c.nodeType ? {node: c, value: null} : c)));
  box.append(facts('Identity: hashed to ' + report.header.environment, report.identity), facts('Recorded, never hashed', report.facts));
  box.append(make('p', {}, 'Every variant was compared with an independent float64 reference before it was timed. A time is the median of n samples less the ' +
    'harness\'s own floor; the interval holds the median with 95% confidence. Bounds use hot buffers, predictions cold weights. The fastest variants were ' +
    'measured again in a fresh process, and only that number stands as the best.'));
  if (report.failures.length) {
    box.append(table('Variants without a time', ['key', 'variant', 'outcome', 'reason'], report.failures.map((f) => [keyCell(f.key), f.variant, f.outcome, f.reason])));
  }
  page.append(box);
}

header();
overview();
operators();
roofline();
models();
environment();
page.append(make('footer', {}, 'Written by plumb ' + (report.facts['plumb.version'] || '') + ' at ' + report.now + '. Charts by Chart.js, MIT licence (see the source of this page).'));
document.body.dataset.ready = 'yes';
