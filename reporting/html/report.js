// The sections of the report, drawn from the JSON document in #data.

const report = JSON.parse(document.getElementById('data').textContent);
const page = document.getElementById('page');
const title = (model) => model.model + (model.batch === 1 ? '' : ' b' + model.batch) + ' ' + model.dtype +
  Object.entries(model.dims).map(([name, extent]) => ' ' + name + ' ' + extent).join('');
const layersOf = (model) => model.measured_layers + ' of ' + model.total_layers;

// The bounds, and what was measured, that are compared at a glance: kind, mode, what it is called, colour.
const kGlance = [
  ['hardware', '', 'hardware bound', '#8c959f'],
  ['library_parallel', 'fusion', 'library bound, fused, parallel branches', '#9ec9ff'],
  ['library', 'fusion', 'library bound, fused', '#4493f8'],
  ['library', 'plain', 'library bound, layer by layer', '#1158c7'],
  ['predicted', 'plain', 'predicted (estimate)', '#2da44e'],
  ['layer_sum', 'plain', 'sum of the layers alone (estimate)', '#bf8700'],
  ['execution', 'plain', 'measured end to end', '#bf3989'],
];

function boundOf(model, kind, mode) {
  if (kind === 'execution') {
    const execution = model.executions.find((e) => e.mode === mode && e.scenario === 'single_stream' && !e.load);
    return execution && {seconds: execution.median_seconds, complete: execution.samples > 0};
  }
  return model.bounds.find((bound) => bound.kind === kind && (!mode || bound.mode === mode || bound.mode === 'any'));
}

function secondsOf(model, kind, mode) {
  const bound = boundOf(model, kind, mode);
  return bound && bound.complete ? bound.seconds : null;
}

function listOf(texts, most) {
  const list = make('ul');
  for (const text of texts.slice(0, most)) list.append(make('li', {}, text));
  if (texts.length > most) list.append(make('li', {}, 'and ' + (texts.length - most) + ' more'));
  return list;
}

function header() {
  const run = report.header, total = report.models.length;
  const whole = report.models.filter((m) => m.measured_layers === m.total_layers && m.bounds.every((b) => b.complete)).length;
  const findings = report.models.flatMap((m) => m.findings.map((f) => title(m) + ': ' + f));
  page.append(
    make('h1', {}, total ? 'How far is each model from its bound?' : 'How long does each layer take?'),
    make('p', {class: 'quiet wide'}, 'Suite ' + run.suite + ' · ' + (report.identity['cpu.model'] || '') + ' · stack ' + run.stack + ' (' + run.backend + ') · ' +
      moment(run.started) + ' · run ' + run.run + ' · environment ' + run.environment +
      Object.entries(run.labels || {}).filter(([name]) => name !== 'commit').map(([name, value]) => ' · ' + name + ' ' + value).join(''),
      ...(run.labels && run.labels.commit ? [' · commit ', commitLink(run.labels.commit, report.commit_url)] : [])));
  const box = make('div', {class: whole === total && run.state === 'finished' ? 'verdict' : 'verdict partial'},
    make('strong', {}, (total ? whole + ' of ' + total + ' models are completely measured' : report.layers.filter((l) => l.seconds).length + ' of ' + report.layers.length + ' layers have a time') + (run.state === 'finished' ? '. ' : '; the run is ' + run.state + '. ')),
    run.rows.ok + ' rows measured, ' + run.rows.reused + ' reused, ' + run.rows.failed + ' without a time.');
  if (findings.length) box.append(listOf(findings, 12));
  page.append(box);
}

function overview() {
  page.append(make('h2', {}, 'Models against their bounds'));
  page.append(make('p', {class: 'quiet'}, 'No execution beats the hardware bound. No execution with this library\'s own kernels beats the library bound. ' +
    'Each model is a line from its lowest bound to its measured time, and equal distances are equal ratios. Blue points near the grey one show good kernels. ' +
    'Blue points near each other show that fusion and parallel branches can save little.'));
  const timesOf = (m) => kGlance.map(([kind, mode]) => secondsOf(m, kind, mode)).filter((v) => v > 0);
  const values = report.models.flatMap(timesOf);
  const decades = values.length ? Math.log10(Math.max(...values) / Math.min(...values)) : 0;
  // Lengths mean nothing on a logarithmic axis, so nothing begins at its end: only positions count.
  const lines = {type: 'bar', label: 'from bound to measured', backgroundColor: '#8c959f66', barThickness: 3, order: 1,
    data: report.models.map((m) => { const times = timesOf(m); return times.length ? [1e3 * Math.min(...times), 1e3 * Math.max(...times)] : null; })};
  const points = kGlance.map(([kind, mode, label, colour]) => ({
    type: 'line', label, showLine: false, pointRadius: 6, pointHoverRadius: 8, backgroundColor: colour, borderColor: colour, order: kind === 'execution' ? -1 : 0,
    pointStyle: kind === 'execution' ? 'rectRot' : 'circle',
    data: report.models.map((m) => { const s = secondsOf(m, kind, mode); return s > 0 ? s * 1e3 : null; }),
  })).filter((set) => set.data.some(known));
  page.append(chart('Bounds and measured time of every model, as points in milliseconds, logarithmic', 130 + 44 * report.models.length, {
    type: 'bar',
    data: {labels: report.models.map(title), datasets: [lines, ...points]},
    options: {indexAxis: 'y', scales: {x: {...logarithmic('milliseconds', decades), suggestedMin: values.length ? .9e3 * Math.min(...values) : .1,
      suggestedMax: values.length ? 1.1e3 * Math.max(...values) : 1}, y: {grid: {display: false}}},
      plugins: {legend: {labels: {usePointStyle: true}}, tooltip: {callbacks: {label: (item) => item.dataset.label + ': ' +
        (Array.isArray(item.raw) ? item.raw.map((v) => time(v / 1e3)).join(' to ') : time(item.raw / 1e3))}}}},
  }));
  page.append(table('Only complete bounds are shown here. ÷ hardware is the fused library bound over the hardware bound.',
    ['model', 'layers measured', ...kGlance.map((kind) => '#' + kind[2]), '#÷ hardware'],
    report.models.map((m) => {
      const low = secondsOf(m, 'hardware', ''), library = secondsOf(m, 'library', 'fusion');
      return [title(m), layersOf(m), ...kGlance.map(([kind, mode]) => timeCell(secondsOf(m, kind, mode))), ratioCell(low && library ? library / low : null)];
    })));
  page.append(make('details', {}, make('summary', {}, 'Every bound with its interval'), table(
    'hardware, library and library_parallel are bounds. predicted and layer_sum are estimates. benanza_* is the metric of the Benanza paper, not a bound.',
    ['model', 'kind', 'mode', '#time', '#95% interval', 'complete', '#oldest row', 'lacks'],
    report.models.flatMap((m) => m.bounds.map((b) => [title(m), b.kind, b.mode, timeCell(b.seconds), interval(b.low, b.high),
      b.complete ? 'yes' : 'NO: ' + layersOf(m) + ' layers', ageCell(b.oldest_row_seconds), b.lacks.join(', ')])))));
}

// What a scenario is about: its figure, as the command line writes it.
function scoreOf(load) {
  if (!load.score || !known(load.score.value)) return '–';
  const at = load.result.effective.percentile + ' % ≤ ';
  if (load.score.unit === 'seconds') return at + time(load.score.value);
  const limit = load.result.effective.latency_limit_seconds;
  return digits(load.score.value) + ' ' + load.score.name.replace('_per_second', '/s') + (limit ? ' (' + at + time(limit) + ')' : '');
}

function scenarios() {
  const loads = report.models.flatMap((m) => m.executions.filter((e) => e.load).map((e) => [m, e]));
  if (!loads.length) return;
  page.append(make('h2', {}, 'MLPerf scenarios'));
  page.append(make('p', {class: 'quiet'}, loads[0][1].notice + ' A sample is one input of the model at its batch. Copies into the model\'s buffers are counted.'));
  page.append(table('Latencies of queries. An INVALID load misses a duration, count, latency or confidence. Its findings show which, and by how much.',
    ['model', 'scenario', 'mode', 'verdict', 'score', '#median', '#90 %', '#99 %', '#queries', 'batches'],
    loads.map(([m, e]) => [title(m), e.scenario, e.mode, e.load.result ? (e.load.verdict === 'valid' ? 'VALID' : 'INVALID') : e.outcome, scoreOf(e.load),
      timeCell(e.median_seconds), timeCell(e.p90_seconds), timeCell(e.p99_seconds), countCell(e.samples),
      e.load.batcher.buckets.map((b) => b.batches + ' of ' + b.bucket).join(', ')])));
}

function operators() {
  page.append(make('h2', {}, 'Time by operator'));
  page.append(make('p', {class: 'quiet'}, 'Shares of the fused library bound: a fused step counts as its first operator.'));
  page.append(chart('Share of time by operator for every model', 110 + 34 * report.models.length, {
    type: 'bar',
    data: {labels: report.models.map(title), datasets: report.operators.map((row, i) => ({
      label: row.op, backgroundColor: kPalette[i], data: row.shares.map((share) => known(share) ? 100 * share : null)}))},
    options: {indexAxis: 'y', scales: {x: {stacked: true, max: 100, title: {display: true, text: '% of the bound'}}, y: {stacked: true, grid: {display: false}}},
      plugins: {tooltip: {callbacks: {label: (item) => item.dataset.label + ': ' + item.raw.toFixed(1) + ' %'}}}},
  }));
}

function roofline() {
  const ceilings = report.calibration;
  if (!ceilings || !(ceilings.memory_bytes_per_second > 0) || !(ceilings.peak_f32_flops_per_second > 0)) return;
  const peak = ceilings.peak_f32_flops_per_second / 1e9, slope = ceilings.memory_bytes_per_second / 1e9;
  const points = report.models.map((model) => model.cover.filter((s) => s.seconds > 0 && s.flops > 0 && s.bytes > 0)
    .map((s) => ({x: s.flops / s.bytes, y: s.flops / s.seconds / 1e9, name: s.name, spent: time(s.seconds)})));
  // A model as a whole: its operations against the bytes that no execution avoids, in its time now.
  const wholes = report.models.map((model) => ({model, seconds: secondsOf(model, 'execution', 'plain') || secondsOf(model, 'library', 'fusion')}))
    .filter(({model, seconds}) => seconds > 0 && model.roofline.compulsory_bytes > 0 && model.roofline.operations > 0)
    .map(({model, seconds}) => ({x: model.roofline.operations_per_byte, y: model.roofline.operations / seconds / 1e9, name: 'the whole model', model: title(model), spent: time(seconds)}));
  const lowest = Math.min(.1, ...points.flat().map((p) => p.x)), highest = Math.max(100, ...[...points.flat(), ...wholes].map((p) => p.x));
  page.append(make('h2', {}, 'Roofline'));
  page.append(make('p', {class: 'quiet'}, 'Each point is one layer, and each diamond a whole model in its time now. The line is the measured limit of this machine: ' + digits(peak) + ' GFLOP/s in f32, ' +
    digits(slope) + ' GB/s from memory. Points above the slope were served by caches (hot buffers). Points above the flat part use an algorithm of fewer operations (Winograd), or the ceiling was ' +
    'measured on a disturbed host. Points far below the line are slow kernels.'));
  page.append(chart('Roofline: arithmetic rate against arithmetic intensity', 460, {
    type: 'scatter',
    data: {datasets: [
      {label: 'measured ceilings', type: 'line', data: [{x: lowest, y: lowest * slope}, {x: peak / slope, y: peak}, {x: highest, y: peak}],
        borderColor: style('--critical'), backgroundColor: style('--critical'), borderWidth: 2, pointRadius: 0},
      {label: 'whole models', data: wholes, backgroundColor: style('--ink'), pointStyle: 'rectRot', pointRadius: 7},
      ...report.models.map((m, i) => ({label: title(m), data: points[i], backgroundColor: kPalette[i % kPalette.length] + 'b0', pointRadius: 3.5})),
    ]},
    options: {scales: {x: {...logarithmic('operations per byte', 9), min: lowest / 1.5}, y: {...logarithmic('GFLOP/s', 9), suggestedMax: 2 * peak}},
      plugins: {legend: {labels: {usePointStyle: true}}, tooltip: {callbacks: {label: (item) => item.raw.name ? (item.raw.model || item.dataset.label) + ', ' + item.raw.name + ': ' +
        digits(item.raw.y) + ' GFLOP/s, ' + item.raw.spent : ''}}}},
  }));
  limits();
}

// How the time of each model's steps is spread over what binds them.
function limits() {
  const kinds = [['compute', '#1158c7'], ['memory', '#2da44e'], ['overhead', '#bf8700'], ['latency', '#8c959f']];
  page.append(chart('Time of each model by what binds its steps', 110 + 34 * report.models.length, {
    type: 'bar',
    data: {labels: report.models.map(title), datasets: kinds.map(([kind, colour]) => ({label: kind, backgroundColor: colour, data: report.models.map((m) => 100 * m.roofline.time_shares[kind])}))},
    options: {indexAxis: 'y', scales: {x: {stacked: true, max: 100, title: {display: true, text: '% of the fused library bound'}}, y: {stacked: true, grid: {display: false}}},
      plugins: {tooltip: {callbacks: {label: (item) => item.dataset.label + ': ' + item.raw.toFixed(1) + ' %'}}}},
  }));
  page.append(table('What binds the models as a whole. The ridge is where the ceilings of arithmetic and memory meet.',
    ['model', 'limit', '#operations', '#bytes at least', '#operations/byte', '#ridge'], report.models.map((m) => [title(m), m.roofline.limit || '–', countCell(m.roofline.operations),
      countCell(m.roofline.compulsory_bytes), countCell(m.roofline.operations_per_byte), countCell(m.roofline.ridge_operations_per_byte)])));
}

// Latency and throughput of models at several batches, and the graphs that were captured of them.
function batches() {
  if (report.batches.length) page.append(make('h2', {}, 'Batches'), make('p', {class: 'quiet'}, 'The knee is the smallest batch with 90 % of the highest throughput. A larger one costs latency and brings little.'));
  for (const curve of report.batches) {
    const name = curve.model + ' ' + curve.dtype + ', ' + curve.mode;
    page.append(chart('Latency and throughput of ' + name + ' against its batch', 240, {
      type: 'line',
      data: {labels: curve.points.map((p) => p.batch), datasets: [
        {label: 'milliseconds', yAxisID: 'y', data: curve.points.map((p) => 1e3 * p.seconds), borderColor: '#bf3989', backgroundColor: '#bf3989', pointRadius: curve.points.map((p) => p.batch === curve.knee ? 9 : 4)},
        {label: 'inputs per second', yAxisID: 'rate', data: curve.points.map((p) => p.inputs_per_second), borderColor: '#1158c7', backgroundColor: '#1158c7', pointRadius: 4}]},
      options: {scales: {x: {title: {display: true, text: 'batch'}}, y: {min: 0, title: {display: true, text: 'milliseconds'}}, rate: {min: 0, position: 'right', grid: {display: false}, title: {display: true, text: 'inputs per second'}}}},
    }), table(name + (curve.knee ? ': the knee is at batch ' + curve.knee : ': no knee up to the largest batch'), ['#batch', '#latency', '#95% interval', '#inputs/s'],
      curve.points.map((p) => [countCell(p.batch), timeCell(p.seconds), interval(p.low, p.high), countCell(p.inputs_per_second)])));
  }
  if (report.captured_graphs.length) {
    page.append(table('Captured graphs: one for each shape that was executed both captured and eager. Saved: one execution of each.', ['model', 'type', '#graphs', '#memory', '#saved'],
      report.captured_graphs.map((g) => [g.model, g.dtype, countCell(g.graphs), bytesCell(g.memory_bytes), timeCell(g.saved_seconds)])));
  }
}

function layers(model) {
  const told = model.cover.some((s) => s.executed_by);
  const limits = new Map(model.roofline.steps.map((s) => [s.key, s]));
  const limitOf = (s) => limits.get(s.key) || {};
  const shareCell = (share) => ({text: known(share) ? (100 * share).toFixed(0) + ' %' : '–', value: share});
  const view = table('Steps of the fused library bound, slowest first',
    ['layer', 'op', '#time', '#± 95%', '#n', '#MACs', 'limit', '#of peak', '#of bandwidth', '#block use', '#padded', 'critical', 'variant', 'key'].concat(told ? ['executed by'] : []),
    model.cover.filter((s) => !s.free).sort((a, b) => (b.seconds || 0) - (a.seconds || 0)).map((s) => [s.name, s.op + (s.rewrite ? ' (' + s.rewrite + ')' : ''),
      timeCell(s.seconds), spreadCell(s), countCell(s.samples), countCell(s.macs), limitOf(s).limit || '–', shareCell(limitOf(s).peak_share), shareCell(limitOf(s).bandwidth_share), shareCell(limitOf(s).block_use), timeCell(limitOf(s).padded_seconds), s.critical ? 'yes' : '', s.variant ? codeCell(s.variant) : '–', keyCell(s.key)].concat(told ? [s.executed_by || '–'] : [])));
  view.classList.add('layers');
  return [filterOf(view, 'filter layers of ' + title(model)), view];
}

function criticalPath(model) {
  const whole = secondsOf(model, 'library', 'fusion'), path = secondsOf(model, 'library_parallel', 'fusion');
  const share = whole && path ? time(path) + ' of ' + time(whole) + ' (' + (100 * path / whole).toFixed(1) + ' %) lie on it. ' : '';
  return make('p', {class: 'quiet'}, share + 'Each box is one step, as wide as its time. It starts as soon as its inputs are ready. The first lane is the critical path. The lanes ' +
    'below could run beside it. Point at a box for its name, variant and key.');
}

function models() {
  page.append(make('h2', {}, 'Model by model'));
  report.models.forEach((model, index) => {
    const box = make('details', index === 0 ? {open: ''} : {}, make('summary', {}, title(model) + ' — ' + layersOf(model) + ' layers measured'));
    const fill = () => {
      if (box.dataset.filled) return;
      box.dataset.filled = 'yes';
      if (model.findings.length) box.append(listOf(model.findings, 30));
      if (model.unsupported.length) {
        box.append(table('Layers without a time', ['layer', 'reason', 'key'], model.unsupported.map((u) => [u.layer, u.reason, keyCell(u.key)])));
      }
      box.append(make('h3', {}, 'Critical path'), criticalPath(model), ...timelineOf(model), ...schedules(model), ...traces(model), ...flames(model), ...listings(model), make('h3', {}, 'What-ifs'), ...whatIfs(model), make('h3', {}, 'Layers'), ...layers(model));
      if (document.body.dataset.ready) drawWaiting();
    };
    if (index === 0) fill();
    box.addEventListener('toggle', fill);
    window.addEventListener('beforeprint', () => { fill(); box.open = true; });
    page.append(box);
  });
}

function singleLayers() {
  if (!report.layers.length) return;
  page.append(make('h2', {}, 'Single layers'));
  page.append(make('p', {class: 'quiet'}, 'Layers that the suite lists by themselves, in its order. Times are of the fastest variant, on hot buffers unless the suite measures another mode.'));
  const view = table('÷ hardware is the time over the hardware bound of the layer alone.', ['#time', '#MACs', '#MAC/s', '#÷ hardware', '#count', 'variant, or why there is no time', 'from', 'key'],
    report.layers.map((l) => [timeCell(l.seconds), countCell(l.macs), countCell(l.seconds && l.macs ? l.macs / l.seconds : null), ratioCell(l.seconds && l.hardware_seconds ? l.seconds / l.hardware_seconds : null),
      countCell(l.count), l.variant ? codeCell(l.variant) : l.reason, l.file, keyCell(l.key)]));
  view.classList.add('layers');
  page.append(filterOf(view, 'filter single layers'), view);
}

function exclusions() {
  if (!report.exclusions.length) return;
  page.append(make('h2', {}, 'Excluded by the suite'));
  page.append(table('Gates, history and alerts leave these cases out. They are measured nevertheless.', ['case', 'reason', 'who', 'until'],
    report.exclusions.map((e) => [codeCell(e.case), e.reason, e.who, e.expires + (e.expired ? ', expired' : '')])));
}

function environment() {
  const box = make('details', {}, make('summary', {}, 'Environment and method'));
  const facts = (what, values) => table(what, ['name', 'value'], Object.entries(values).map(([name, value]) => [name, codeCell(value)]));
  box.append(facts('Identity: hashed to ' + report.header.environment, report.identity), facts('Recorded, never hashed', report.facts));
  box.append(make('p', {}, 'Every variant was compared with an independent float64 reference before it was timed. A time is the median of n samples less the ' +
    'harness overhead. The interval contains the median with 95% confidence. Bounds use hot buffers, predictions cold weights. The fastest variants were ' +
    'measured again in a fresh process, and only these numbers count as the best.'));
  if (report.failures.length) {
    box.append(table('Variants without a time', ['key', 'variant', 'outcome', 'reason'], report.failures.map((f) => [keyCell(f.key), f.variant, f.outcome, f.reason])));
  }
  page.append(box);
}

header();
if (report.models.length) {
  overview();
  scenarios();
  operators();
  roofline();
  batches();
  models();
}
singleLayers();
cliffs();
exclusions();
environment();
page.append(make('footer', {}, 'Written by plumb ' + (report.facts['plumb.version'] || '') + ', ' + moment(report.now) + '. Charts by Chart.js, MIT licence (see the source of this page).'));
finish();
