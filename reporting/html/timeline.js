// Draws the cover of a model against time, as on a machine without limits. The critical path fills the first lane; what runs
// beside it lies below.

// Makes ticks of 1, 2 or 5 times a power of ten.
function tickStep(total, most) {
  const raw = total / most, power = 10 ** Math.floor(Math.log10(raw));
  return power * ([1, 2, 5].find((factor) => factor * power >= raw) || 10);
}

function drawTimeline(model, width) {
  const steps = model.cover, all = model.timeline, first = 46, height = 24, gap = 6;
  const top = (lane) => lane === 0 ? 8 : 8 + first + gap + (lane - 1) * (height + gap);
  const x = (seconds) => 8 + (width - 16) * (all.total_seconds ? seconds / all.total_seconds : 0);
  const bottom = top(all.lanes) + 4;
  const drawing = svg('svg', {width, height: bottom + 22, role: 'img',
    'aria-label': 'Layers of ' + title(model) + ' against time, critical path in the first lane'});
  if (all.timed) {
    const step = tickStep(all.total_seconds, Math.max(2, width / 110));
    for (let tick = 0; tick <= all.total_seconds; tick += step) {
      drawing.append(svg('line', {class: 'tick', x1: x(tick), x2: x(tick), y1: 4, y2: bottom}),
        svg('text', {x: x(tick) + 2, y: bottom + 14}, tick ? time(tick).replace(/(\.\d*?)0+ /, '$1 ').replace('. ', ' ') : '0'));
    }
  }
  for (const step of steps) {
    for (const p of step.after.map((other) => steps[other]).filter((other) => other.lane !== step.lane)) {
      const from = [x(p.end), top(p.lane) + height / 2], to = [x(step.begin), top(step.lane) + height / 2];
      const middle = (from[1] + to[1]) / 2;
      drawing.append(svg('path', {d: `M${from[0]},${from[1]} C${from[0]},${middle} ${to[0]},${middle} ${to[0]},${to[1]}`}));
    }
  }
  for (const step of steps) {
    const left = x(step.begin), wide = Math.max(1, x(step.end) - left - .75), tall = step.lane ? height : first;
    const state = !known(step.seconds) && !step.free ? 'missing' : step.critical ? 'critical' : 'plain';
    const box = svg('rect', {class: state, x: left, y: top(step.lane), width: wide, height: tall, rx: wide > 6 ? 2 : 0});
    const spent = step.free ? 'no work' : known(step.seconds) ? time(step.seconds) : 'not measured';
    box.append(svg('title', {}, [step.name, spent, step.rewrite, step.variant, step.key].filter(Boolean).join('\n')));
    drawing.append(box);
    const room = Math.floor((wide - 8) / 6.2);
    const label = step.name.length <= room ? step.name : room >= 12 ? step.name.slice(0, room - 1) + '…' : step.op;
    if (label.length > room) continue;
    drawing.append(svg('text', {class: state, x: left + 4, y: top(step.lane) + 16}, label));
    if (tall === first && room >= spent.length) drawing.append(svg('text', {class: state, x: left + 4, y: top(0) + 34}, spent));
  }
  return drawing;
}

function timelineOf(model) {
  const view = make('div', {class: 'timeline', tabindex: '0'}), zooms = make('div', {class: 'zoom'}, 'zoom ');
  const room = Math.max(280, page.clientWidth - 40);
  const draw = (zoom) => {
    const middle = (view.scrollLeft + view.clientWidth / 2) / Math.max(1, view.scrollWidth);
    view.replaceChildren(drawTimeline(model, room * zoom));
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
