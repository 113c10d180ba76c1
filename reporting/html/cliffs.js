// Cliffs: layers whose keys differ in one extent only, as rates against that extent. A cliff is a rate that falls where the work grows.

const kCliffsShown = 8, kFewestPoints = 3, kMostCompared = 300;

// Splits keys into their texts and their numbers. Types are texts.
function numbersOf(key) {
  const numbers = [];
  const text = key.replace(/(^|[^a-z0-9])(\d+)(?![a-z0-9])/g, (_, before, number) => { numbers.push(Number(number)); return before + '#'; });
  return {text, numbers};
}

// Groups layers that differ in one extent, wherever it stands in the key. Each group is sorted by that extent.
function extentGroups(layers) {
  const alike = new Map();
  for (const layer of layers.filter((l) => l.seconds > 0 && l.macs > 0)) {
    const parts = numbersOf(layer.key), same = alike.get(parts.text) || [];
    same.push({layer, numbers: parts.numbers});
    alike.set(parts.text, same);
  }
  const groups = new Map();
  for (const [text, same] of alike) {
    const rows = same.slice(0, kMostCompared);
    const add = (places, row) => {
      const values = new Set(places.map((place) => row.numbers[place]));
      if (values.size !== 1) return;
      const rest = row.numbers.map((value, place) => places.includes(place) ? '#' : value).join(',');
      const name = text + '|' + places + '|' + rest, group = groups.get(name) || {places, points: new Map()};
      group.points.set([...values][0], row.layer);
      groups.set(name, group);
    };
    rows.forEach((one, i) => rows.slice(i + 1).forEach((other) => {
      const places = one.numbers.map((value, place) => value === other.numbers[place] ? -1 : place).filter((place) => place >= 0);
      if (places.length) { add(places, one); add(places, other); }
    }));
  }
  return [...groups.values()].filter((group) => group.points.size >= kFewestPoints).map((group) => [...group.points].sort((a, b) => a[0] - b[0])
    .map(([extent, layer]) => ({x: extent, y: layer.macs / layer.seconds / 1e9, layer})));
}

// The smallest ratio of a rate to the one before it: below 1, the rate falls.
const steepest = (points) => Math.min(...points.slice(1).map((point, i) => point.y / points[i].y));

function cliffs() {
  const found = extentGroups(report.layers).sort((a, b) => steepest(a) - steepest(b));
  if (!found.length) return;
  page.append(make('h2', {}, 'Cliffs'));
  page.append(make('p', {class: 'quiet'}, 'Each line is one layer at several extents. A rate that falls where an extent misses a multiple of the kernel\'s block is lost to work on padding. ' +
    'The steepest come first' + (found.length > kCliffsShown ? '; ' + (found.length - kCliffsShown) + ' more are not drawn' : '') + '.'));
  for (const points of found.slice(0, kCliffsShown)) {
    const key = points[0].layer.key, name = key.split(';')[0].replace(/^v\d+:/, '') + ' ' + (key.match(/in=([a-z0-9]+)\[/) || ['', ''])[1];
    page.append(make('h3', {}, name + ', extent ' + points.map((p) => p.x).join(', ') + ': falls to ' + (100 * steepest(points)).toFixed(0) + ' % in one step'));
    page.append(chart('Rate of ' + name + ' against its extent', 220, {
      type: 'line',
      data: {labels: points.map((p) => p.x), datasets: [{label: 'GMAC/s', data: points.map((p) => p.y), borderColor: '#1158c7', backgroundColor: '#1158c7', pointRadius: 5}]},
      options: {scales: {x: {title: {display: true, text: 'extent'}}, y: {min: 0, title: {display: true, text: 'GMAC/s'}}},
        plugins: {legend: {display: false}, tooltip: {callbacks: {label: (item) => digits(item.raw) + ' GMAC/s, ' + time(points[item.dataIndex].layer.seconds)}}}},
    }));
  }
  page.append(table('The layers behind the lines', ['#extent', '#time', '#GMAC/s', 'variant', 'key'], found.slice(0, kCliffsShown).flatMap((points) => points.map((p) =>
    [countCell(p.x), timeCell(p.layer.seconds), {text: digits(p.y), value: p.y}, codeCell(p.layer.variant || ''), keyCell(p.layer.key)]))));
}
