// The charts of a run's report, by the names of their drawings. Their data holds final numbers and texts.

const kPalette = ['#1f6feb', '#e16f24', '#2da44e', '#8250df', '#bf8700', '#0a9396', '#d6409f', '#8c6d46', '#54aeff', '#9a9fa6'];
const kGlanceColors = ['#8c959f', '#9ec9ff', '#4493f8', '#1158c7', '#2da44e', '#bf8700', '#bf3989'];

const axis = (text, more) => ({title: {display: true, text}, ...more});
const painted = (color) => ({backgroundColor: color, borderColor: color});
const shownTexts = {callbacks: {label: (item) => item.raw && item.raw.text || (item.dataset.texts || [])[item.dataIndex] || ''}};
const kPoints = {labels: {usePointStyle: true}};
const kRows = {grid: {display: false}};

// A logarithmic axis that names only powers of ten and, where there are few, their halves and fifths.
function logarithmic(text, decades) {
  const lead = decades > 3 ? [1] : [1, 2, 5];
  return axis(text, {type: 'logarithmic', ticks: {maxRotation: 0, autoSkip: false, callback: (value) =>
    lead.includes(Number(value.toExponential()[0])) ? String(Number(value.toPrecision(1))) : null}});
}

const kCharts = {
  // Lengths mean nothing on a logarithmic axis, so nothing begins at its end: only positions count.
  glances({titles, lines, series}) {
    const ends = lines.flatMap((line) => line || []), low = Math.min(...ends), high = Math.max(...ends);
    return {
      type: 'bar',
      data: {labels: titles, datasets: [
        {label: 'from bound to measured', data: lines, backgroundColor: '#8c959f66', barThickness: 3, order: 1},
        ...series.map(({label, values, texts}, i) => ({type: 'line', label, data: values, texts, showLine: false, pointRadius: 6, pointHoverRadius: 8, ...painted(kGlanceColors[i]),
          order: i === series.length - 1 ? -1 : 0, pointStyle: i === series.length - 1 ? 'rectRot' : 'circle'})).filter((set) => set.data.some(known))]},
      options: {indexAxis: 'y', plugins: {legend: kPoints, tooltip: shownTexts},
        scales: {x: {...logarithmic('milliseconds', Math.log10(high / low)), suggestedMin: .9 * low, suggestedMax: 1.1 * high}, y: kRows}},
    };
  },
  parts: ({titles, whole, series}) => ({
    type: 'bar',
    data: {labels: titles, datasets: series.map(({label, values, texts}, i) => ({label, data: values, texts, backgroundColor: kPalette[i]}))},
    options: {indexAxis: 'y', plugins: {tooltip: shownTexts}, scales: {x: axis(whole, {stacked: true, max: 100}), y: {stacked: true, ...kRows}}},
  }),
  roofline: ({ceilings, wholes, models}) => ({
    type: 'scatter',
    data: {datasets: [
      {label: 'measured ceilings', type: 'line', data: ceilings, ...painted(style('--critical')), borderWidth: 2, pointRadius: 0},
      {label: 'whole models', data: wholes, backgroundColor: style('--ink'), pointStyle: 'rectRot', pointRadius: 7},
      ...models.map(({label, points}, i) => ({label, data: points, backgroundColor: kPalette[i % kPalette.length] + 'b0', pointRadius: 3.5}))]},
    options: {plugins: {legend: kPoints, tooltip: shownTexts},
      scales: {x: {...logarithmic('operations per byte', 9), min: ceilings[0].x / 1.5}, y: {...logarithmic('GFLOP/s', 9), suggestedMax: 2 * ceilings[2].y}}},
  }),
  batches: (points) => ({
    type: 'line',
    data: {labels: points.map((point) => point.batch), datasets: [
      {label: 'milliseconds', yAxisID: 'y', data: points.map((point) => point.milliseconds), ...painted('#bf3989'), pointRadius: points.map((point) => point.knee ? 9 : 4)},
      {label: 'inputs per second', yAxisID: 'rate', data: points.map((point) => point.rate), ...painted('#1158c7'), pointRadius: 4}]},
    options: {scales: {x: axis('batch'), y: axis('milliseconds', {min: 0}), rate: axis('inputs per second', {min: 0, position: 'right', grid: {display: false}})}},
  }),
  waterfall: (bars) => ({
    type: 'bar',
    data: {labels: bars.map((bar) => bar.name), datasets: [{label: 'milliseconds', data: bars.map((bar) => [bar.from, bar.to]), texts: bars.map((bar) => bar.text),
      backgroundColor: bars.map((bar) => bar.between ? style('--critical') : '#4493f8'), barThickness: 20}]},
    options: {indexAxis: 'y', scales: {x: axis('milliseconds', {min: 0}), y: kRows}, plugins: {legend: {display: false}, tooltip: shownTexts}},
  }),
  rates: (points) => ({
    type: 'line',
    data: {labels: points.map((point) => point.extent), datasets: [{label: 'GMAC/s', data: points.map((point) => point.rate), texts: points.map((point) => point.text),
      ...painted('#1158c7'), pointRadius: 5}]},
    options: {scales: {x: axis('extent'), y: axis('GMAC/s', {min: 0})}, plugins: {legend: {display: false}, tooltip: shownTexts}},
  }),
};
