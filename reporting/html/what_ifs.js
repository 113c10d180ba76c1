// The what-ifs of a model, the way from its time now to its bound, and its critical path before and after.

function waterfall(model) {
  const levels = model.waterfall;
  if (levels.length < 2) return [];
  const bars = levels.slice(1).map((level, i) => ({what: level.what, from: level.seconds, to: levels[i].seconds, floating: true}));
  const all = [{what: 'now', from: 0, to: levels[0].seconds}, ...bars, {what: levels[levels.length - 1].name, from: 0, to: levels[levels.length - 1].seconds}];
  return [make('h3', {}, 'From now to the bound'),
    chart('From the time of ' + title(model) + ' now to its bound, in milliseconds', 80 + 34 * all.length, {
      type: 'bar',
      data: {labels: all.map((bar) => bar.what), datasets: [{label: 'milliseconds', data: all.map((bar) => [1e3 * bar.from, 1e3 * bar.to]),
        backgroundColor: all.map((bar) => bar.floating ? style('--critical') : '#4493f8'), barThickness: 20}]},
      options: {indexAxis: 'y', scales: {x: {min: 0, title: {display: true, text: 'milliseconds'}}, y: {grid: {display: false}}},
        plugins: {legend: {display: false}, tooltip: {callbacks: {label: (item) => time((item.raw[1] - item.raw[0]) / 1e3)}}}},
    }),
    table('Each row lies below the one before. Levels of the model\'s own type that are not known are left out.', ['level', '#time', '#95% interval', '#less than before', 'what lies between'],
      levels.map((level, i) => [level.name, timeCell(level.seconds), interval(level.low, level.high), timeCell(i ? levels[i - 1].seconds - level.seconds : null), level.what]))];
}

// The critical path as written beside that of the fused steps.
function criticalPaths(model) {
  const paths = [['before: layers as written', model.critical_path_plain], ['after: fused steps', model.critical_path]];
  const sum = (path) => path.every((step) => known(step.seconds)) ? path.reduce((total, step) => total + step.seconds, 0) : null;
  return table('The critical path before and after fusion: the longest chain of steps that wait for each other, all else beside it.', ['path', '#steps', '#time', 'its longest steps'],
    paths.map(([name, path]) => [name, countCell(path.length), timeCell(sum(path)),
      [...path].sort((a, b) => (b.seconds || 0) - (a.seconds || 0)).slice(0, 3).map((step) => (step.rewrite || step.key.split(';')[0].replace(/^v\d+:/, '')) + ' ' + time(step.seconds)).join(', ')]));
}

const settingsOf = (w) => w.settings.map((s) => s.framework + ': ' + s.setting).join('; ');
const bytesCell = (bytes) => ({text: known(bytes) ? count(bytes) + 'B' : '–', value: bytes});

function whatIfs(model) {
  const nodes = [...waterfall(model), criticalPaths(model), table('The largest predicted saving comes first. Predicted: the plan priced by its measured steps. Realised: executed end to end with it switched on. –: the run does not have the data.',
    ['what if', '#saves', '#now, priced', '#predicted', '#speed-up', '#now, measured', '#realised', '#speed-up ', '#error', 'accuracy', '#memory'], model.whatifs.map((w) => [w.name + (w.combination ? ' (combination)' : ''),
      {text: time(w.predicted_saving_seconds) + (known(w.predicted_saving_low) ? ' (' + time(w.predicted_saving_low) + ' to ' + time(w.predicted_saving_high) + ')' : ''), value: w.predicted_saving_seconds},
      timeCell(w.baseline_seconds),
      timeCell(w.why_not ? null : w.predicted_seconds), ratioCell(w.why_not ? null : w.predicted_speedup), timeCell(w.realised_baseline_seconds), timeCell(w.realised_seconds),
      ratioCell(w.realised_speedup), w.prediction_error === null ? '–' : digits(100 * w.prediction_error) + ' % (' + digits(100 * w.prediction_error_low) + ' to ' + digits(100 * w.prediction_error_high) + ')',
      w.accuracy, bytesCell(w.realised_memory_bytes)])),
    table('What each of them is, what it needs, and what switches it on', ['what if', 'how', 'needs', 'setting', 'command'], model.whatifs.map((w) => [w.name, w.why_not ? (w.applies ? 'not known: ' : 'does not apply: ') + w.why_not : w.mode + (w.not_judged ? '; not judged: ' + w.not_judged : ''),
      w.prerequisites.join('; '), settingsOf(w), w.command]))];
  const best = model.whatifs.find((w) => w.name === 'best_variant');
  const saved = best ? best.layers.filter((l) => l.before_seconds > l.after_seconds) : [];
  if (saved.length) {
    nodes.push(table('Variants the library should have picked', ['layer', '#its choice', '#fastest', '#saved', 'change', 'key'],
      saved.map((l) => [l.layer, timeCell(l.before_seconds), timeCell(l.after_seconds), timeCell(l.before_seconds - l.after_seconds), l.change, keyCell(l.key)])));
  }
  return nodes;
}
