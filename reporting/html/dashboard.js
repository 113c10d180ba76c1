// The dashboard over the runs of a store: what Grafana shows of them, for whoever has only the store. Drawn from the JSON document in #data.

const board = JSON.parse(document.getElementById('data').textContent);
const page = document.getElementById('page');
const kDay = 86400e3;
// From red far from the bound to green at it.
const hue = (ratio) => 'hsl(' + Math.round(130 * Math.max(0, Math.min(1, ratio))) + ' 60% 36%)';
const title = (model) => model.model + ' · ' + model.batch + ' · ' + model.dtype + Object.entries(model.dims).map(([axis, extent]) => ' · ' + axis + ' ' + extent).join('') +
  (model.training ? ' · training by ' + model.training : '');
const place = (series) => series.device + ' · ' + series.stack + (series.threads === '1' ? '' : ' · ' + series.threads + ' threads');
const newest = (model) => model.points[model.points.length - 1];
const percent = (ratio) => known(ratio) ? (100 * ratio).toFixed(0) + ' %' : '–';
const day = (moment) => new Date(moment).toISOString().slice(5, 10);

const commitCell = (commit) => commit ? {node: commitLink(commit.name, commit.url), value: null} : '–';

const changesOf = (model) => model.states.filter((state) => state.tone);

function tiles() {
  page.append(make('div', {class: 'tiles'}, ...board.tiles.map((tile) =>
    make('div', {class: 'tile ' + tile.tone, title: tile.explanation}, make('strong', {}, tile.text), make('span', {}, tile.label)))));
}

// A cell of the heat map: coloured by how near to its bound the model is; below it what was measured, or else the bound.
function heat(point) {
  if (!point) return {text: '–', value: null};
  const below = known(point.seconds) ? time(point.seconds) : known(point.library_seconds) ? 'bound ' + time(point.library_seconds) : '';
  const ratio = make('span', known(point.ratio) ? {class: 'heat', style: 'background:' + hue(point.ratio)} : {}, percent(point.ratio));
  return {node: make('div', {}, make('span', {class: 'quiet'}, below + '  '), ratio), value: point.ratio};
}

function distance() {
  const places = [...new Set(board.models.map(place))], names = [...new Set(board.models.map(title))];
  const at = new Map(board.models.map((model) => [title(model) + '\n' + place(model), newest(model)]));
  page.append(make('h2', {}, 'Distance to the bound'));
  const view = table('Library bound ÷ end to end of the newest runs, and the median beside it. Green is at the bound, red far from it. A model without an end-to-end time shows its bound.',
    ['model', ...places.map((each) => '#' + each)], names.map((each) => [each, ...places.map((where) => heat(at.get(each + '\n' + where)))]));
  view.classList.add('matrix');
  page.append(view);
}

// One row for each model, one cell for its newest run of each day, from left to right.
function distanceOverTime() {
  const models = board.models.filter((model) => model.points.some((point) => known(point.ratio)));
  if (!models.length) return;
  // A column is a day, or a run where all lie within few days.
  const cut = Date.parse(board.last) - Date.parse(board.first) > 5 * kDay ? 10 : 19;
  const column = (point) => point.started.slice(0, cut);
  const moments = [...new Set(models.flatMap((model) => model.points.map(column)))].sort();
  const label = 330, width = Math.min(60, Math.max(6, Math.floor(880 / moments.length))), height = 20;
  const picture = svg('svg', {width: label + width * moments.length + 10, height: height * models.length + 26, role: 'img', 'aria-label': 'Bound ÷ end to end of every run'});
  models.forEach((model, row) => {
    picture.append(svg('text', {x: 4, y: height * row + 14}, title(model) + ' — ' + model.stack));
    for (const point of model.points) {
      const cell = svg('rect', {x: label + width * moments.indexOf(column(point)), y: height * row + 1, width: width - 1, height: height - 2, fill: known(point.ratio) ? hue(point.ratio) : 'none'});
      cell.append(svg('title', {}, title(model) + ', ' + moment(point.started) + ': ' + percent(point.ratio) + ' of ' + time(point.seconds)));
      picture.append(cell);
    }
  });
  const apart = Math.ceil(moments.length / 10);
  moments.forEach((each, i) => { if (i % apart === 0) picture.append(svg('text', {x: label + width * i, y: height * models.length + 18}, each.slice(5, cut > 10 ? 16 : 10).replace('T', ' '))); });
  page.append(make('p', {class: 'caption'}, 'The same over time: where a model\'s distance to its bound changed.'), make('div', {class: 'cells'}, picture));
}

function changes() {
  const rows = board.models.flatMap((model) => changesOf(model).map((s) => [title(model), place(model), s.mode, s.metric,
    {node: make('span', {class: 'heat ' + s.tone}, s.state), value: null}, ratioCell(s.ratio), commitCell(newest(model).commit)]));
  page.append(make('h2', {}, 'Changes against the baseline'));
  page.append(rows.length ? table('Ratio: newest ÷ baseline, above 1 is slower. Regressed: the newest two comparable runs both show it.', ['model', 'where', 'mode', 'quantity', 'verdict', '#ratio', 'commit of the newest run'], rows)
    : make('p', {}, 'No changes: every quantity is equivalent to its baseline, or has no baseline.'));
}

const kMarks = {id: 'marks', afterDatasetsDraw(drawn, _, options) {
  const context = drawn.ctx, area = drawn.chartArea;
  for (const mark of options.marks) {
    const x = drawn.scales.x.getPixelForValue(Date.parse(mark.started));
    context.save();
    context.strokeStyle = context.fillStyle = style('--accent');
    context.setLineDash([3, 3]);
    context.beginPath();
    context.moveTo(x, area.top);
    context.lineTo(x, area.bottom);
    context.stroke();
    context.fillText(mark.library, x + 4, area.top + 12);
    context.restore();
  }
}};

function latencies() {
  page.append(make('h2', {}, 'History'));
  page.append(make('p', {class: 'quiet'}, 'Median end to end with its interval, beside the bounds of the library and the hardware. Dashed: another version of the library.'));
  const grid = make('div', {class: 'grid'});
  // What changed comes first.
  const changed = (model) => changesOf(model).length > 0;
  const models = board.models.filter((model) => model.points.some((point) => known(point.seconds) || known(point.library_seconds)));
  for (const model of models.sort((one, other) => changed(other) - changed(one))) {
    const line = (label, colour, value, more) => ({label, borderColor: colour, backgroundColor: colour, borderWidth: 1.5, pointRadius: model.points.length > 40 ? 0 : 2, spanGaps: true,
      data: model.points.map((point) => ({x: Date.parse(point.started), y: known(value(point)) ? 1e3 * value(point) : null})), ...more});
    grid.append(make('div', {}, make('h3', {}, title(model) + ' — ' + place(model)), chart('Latency of ' + title(model) + ' over time', 240, {
      type: 'line',
      data: {datasets: [
        line('end to end', '#bf3989', (point) => point.seconds),
        line('high', '#bf398940', (point) => point.high, {pointRadius: 0, borderWidth: 0}),
        line('low', '#bf398940', (point) => point.low, {pointRadius: 0, borderWidth: 0, fill: '-1'}),
        line('library bound', '#4493f8', (point) => point.library_seconds),
        line('hardware bound', '#8c959f', (point) => point.hardware_seconds)]},
      options: {
        scales: {x: {type: 'linear', ticks: {maxTicksLimit: 7, callback: (value) => day(value)}, grid: {display: false}}, y: {beginAtZero: true, title: {display: true, text: 'ms'}}},
        plugins: {marks: {marks: model.points.filter((point) => point.library_changed)}, legend: {labels: {boxWidth: 12, filter: (item) => item.text !== 'low' && item.text !== 'high'}},
          tooltip: {callbacks: {title: (items) => moment(new Date(items[0].parsed.x).toISOString()) + ((commit) => commit ? ', commit ' + commit.name.slice(0, 12) : '')(model.points[items[0].dataIndex].commit), label: (item) => item.dataset.label + ': ' + time(item.parsed.y / 1e3)}}},
      },
      plugins: [kMarks],
    })));
  }
  page.append(grid);
}

function exclusions() {
  if (!board.exclusions.length) return;
  page.append(make('h2', {}, 'Excluded by the suites'));
  page.append(table('These cases are measured, but have no verdict here and no alert.', ['case', 'reason', 'who', 'until', 'suite', 'stack'],
    board.exclusions.map((e) => [codeCell(e.case), e.reason, e.who || '–', e.expires, e.suite, e.stack])));
}

function suites() {
  page.append(make('h2', {}, 'Suites'));
  page.append(table('The newest finished run of every suite, on every device and stack.',
    ['suite', 'device', 'stack', 'library', 'commit', '#finished ago', '#took', '#complete models', '#rows without a time', '#disturbed', 'environment changed'],
    board.suites.map((suite) => [suite.suite, suite.device, suite.stack, suite.library || '–', commitCell(suite.commit), ageCell(suite.age_seconds), {text: age(suite.duration_seconds), value: suite.duration_seconds},
      {text: suite.complete_models + ' of ' + suite.models, value: suite.complete_models}, countCell(suite.failed_rows),
      {text: percent(suite.disturbed_ratio), value: suite.disturbed_ratio}, known(suite.environment_changed) ? (suite.environment_changed ? 'yes' : 'no') : '–'])));
}

page.append(make('h1', {}, 'How far is every model from its bound, and what changed?'));
page.append(make('p', {class: 'quiet wide'}, board.runs + (board.runs === 1 ? ' run from ' : ' runs from ') + moment(board.first) + ' to ' + moment(board.last) + ' · written ' + moment(board.now)));
if (board.models.length) {
  tiles();
  distance();
  distanceOverTime();
  changes();
  latencies();
}
exclusions();
if (board.suites.length) suites();
else page.append(make('p', {}, 'The store holds no finished run within these days.'));
page.append(make('footer', {}, 'Written by plumb ' + board.version + '. Charts by Chart.js, MIT licence (see the source of this page).'));
finish();
