// Draws the cover of a model against time: every step starts when the last of those it waits for has ended, as on a machine
// without limits. The critical path fills the first lane; what runs beside it lies below.

// Orders steps so that each comes after those it waits for.
function inOrder(steps) {
  const waiting = steps.map((step) => step.after.length), users = steps.map(() => []);
  steps.forEach((step, i) => step.after.forEach((p) => users[p].push(i)));
  const order = steps.map((_, i) => i).filter((i) => waiting[i] === 0);
  for (let at = 0; at < order.length; at += 1) {
    for (const user of users[order[at]]) if ((waiting[user] -= 1) === 0) order.push(user);
  }
  return order;
}

function placed(steps) {
  const order = inOrder(steps), begin = [], end = [], lane = [], laneEnd = [];
  const anyTime = steps.some((step) => step.seconds > 0);
  for (const i of order) {
    begin[i] = Math.max(0, ...steps[i].after.map((p) => end[p] || 0));
    end[i] = begin[i] + (anyTime ? steps[i].seconds || 0 : 1);
  }
  const total = Math.max(...end.filter(known), 0), slack = total * 1e-6;
  for (const i of [...order].sort((a, b) => begin[a] - begin[b] || end[a] - end[b])) {
    const free = (column) => (laneEnd[column] || 0) <= begin[i] + slack;
    const parent = steps[i].after.map((p) => lane[p]).find((column) => column > 0 && free(column));
    let column = steps[i].critical ? 0 : parent || 1;
    while (!free(column)) column += 1;
    lane[i] = column;
    laneEnd[column] = end[i];
  }
  return {order, begin, end, lane, total, lanes: Math.max(0, ...laneEnd.keys()) + 1, anyTime};
}

// Makes ticks of 1, 2 or 5 times a power of ten.
function tickStep(total, most) {
  const raw = total / most, power = 10 ** Math.floor(Math.log10(raw));
  return power * ([1, 2, 5].find((factor) => factor * power >= raw) || 10);
}

function drawTimeline(model, place, width) {
  const steps = model.cover, first = 46, height = 24, gap = 6;
  const top = (lane) => lane === 0 ? 8 : 8 + first + gap + (lane - 1) * (height + gap);
  const x = (seconds) => 8 + (width - 16) * (place.total ? seconds / place.total : 0);
  const bottom = top(place.lanes) + 4;
  const drawing = svg('svg', {width, height: bottom + 22, role: 'img',
    'aria-label': 'Layers of ' + title(model) + ' against time, critical path in the first lane'});
  if (place.anyTime) {
    const step = tickStep(place.total, Math.max(2, width / 110));
    for (let tick = 0; tick <= place.total; tick += step) {
      drawing.append(svg('line', {class: 'tick', x1: x(tick), x2: x(tick), y1: 4, y2: bottom}),
        svg('text', {x: x(tick) + 2, y: bottom + 14}, tick ? time(tick).replace(/(\.\d*?)0+ /, '$1 ').replace('. ', ' ') : '0'));
    }
  }
  for (const i of place.order) {
    for (const p of steps[i].after.filter((other) => place.lane[other] !== place.lane[i])) {
      const from = [x(place.end[p]), top(place.lane[p]) + height / 2], to = [x(place.begin[i]), top(place.lane[i]) + height / 2];
      const middle = (from[1] + to[1]) / 2;
      drawing.append(svg('path', {d: `M${from[0]},${from[1]} C${from[0]},${middle} ${to[0]},${middle} ${to[0]},${to[1]}`}));
    }
  }
  for (const i of place.order) {
    const step = steps[i], left = x(place.begin[i]), wide = Math.max(1, x(place.end[i]) - left - .75), tall = place.lane[i] ? height : first;
    const state = !known(step.seconds) && !step.free ? 'missing' : step.critical ? 'critical' : 'plain';
    const box = svg('rect', {class: state, x: left, y: top(place.lane[i]), width: wide, height: tall, rx: wide > 6 ? 2 : 0});
    const spent = step.free ? 'no work' : known(step.seconds) ? time(step.seconds) : 'not measured';
    box.append(svg('title', {}, [step.name, spent, step.rewrite, step.variant, step.key].filter(Boolean).join('\n')));
    drawing.append(box);
    const room = Math.floor((wide - 8) / 6.2);
    const label = step.name.length <= room ? step.name : room >= 12 ? step.name.slice(0, room - 1) + '…' : step.op;
    if (label.length > room) continue;
    drawing.append(svg('text', {class: state, x: left + 4, y: top(place.lane[i]) + 16}, label));
    if (tall === first && room >= spent.length) drawing.append(svg('text', {class: state, x: left + 4, y: top(0) + 34}, spent));
  }
  return drawing;
}

function timelineOf(model) {
  const place = placed(model.cover), view = make('div', {class: 'timeline', tabindex: '0'}), zooms = make('div', {class: 'zoom'}, 'zoom ');
  const room = Math.max(280, page.clientWidth - 40);
  const draw = (zoom) => {
    const middle = (view.scrollLeft + view.clientWidth / 2) / Math.max(1, view.scrollWidth);
    view.replaceChildren(drawTimeline(model, place, room * zoom));
    view.scrollLeft = middle * view.scrollWidth - view.clientWidth / 2;
    for (const button of zooms.children) button.setAttribute('aria-pressed', String(Number(button.dataset.zoom) === zoom));
  };
  for (const zoom of [1, 4, 16]) {
    const button = make('button', {type: 'button', 'data-zoom': zoom}, zoom + '×');
    button.addEventListener('click', () => draw(zoom));
    zooms.append(button);
  }
  draw(1);
  return [zooms, view];
}
