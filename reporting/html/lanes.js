// Draws boxes in lanes against time: steps beside the critical path, parts of steps on processors, calls above their layers.

// Makes ticks of 1, 2 or 5 times a power of ten.
function tickStep(total, most) {
  const raw = total / most, power = 10 ** Math.floor(Math.log10(raw));
  return power * ([1, 2, 5].find((factor) => factor * power >= raw) || 10);
}

function drawLanes(label, {total, lanes, names, ticks, links, boxes}, width) {
  // The first lane of linked boxes is the critical path: it has room for two lines.
  const height = 24, first = links ? 46 : height, gap = names ? 20 : 6, begin = names ? 18 : 8;
  const tall = (lane) => lane ? height : first, top = (lane) => begin + (lane ? first + gap + (lane - 1) * (height + gap) : 0);
  const x = (seconds) => 8 + (width - 16) * (total ? seconds / total : 0), bottom = top(lanes) - gap + 8;
  const drawing = svg('svg', {width, height: bottom + 22, role: 'img', 'aria-label': label});
  const step = tickStep(total, Math.max(2, width / 110));
  for (let tick = 0; ticks && total && tick <= total; tick += step) {
    drawing.append(svg('line', {class: 'tick', x1: x(tick), x2: x(tick), y1: 4, y2: bottom}),
      svg('text', {x: x(tick) + 2, y: bottom + 14}, tick ? time(tick).replace(/(\.\d*?)0+ /, '$1 ').replace('. ', ' ') : '0'));
  }
  (names || []).forEach((name, lane) => drawing.append(svg('text', {x: 8, y: top(lane) - 4}, name)));
  for (const [one, other] of links || []) {
    const from = boxes[one], to = boxes[other], start = top(from.lane) + height / 2, end = top(to.lane) + height / 2, middle = (start + end) / 2;
    drawing.append(svg('path', {d: `M${x(from.end)},${start} C${x(from.end)},${middle} ${x(to.begin)},${middle} ${x(to.begin)},${end}`}));
  }
  for (const box of boxes) {
    const left = x(box.begin), wide = Math.max(.5, x(box.end) - left - .75), room = Math.floor((wide - 8) / 6.2);
    const write = (text, line) => { if (text.length <= room) drawing.append(svg('text', {class: box.state, x: left + 4, y: top(box.lane) + line}, text)); };
    const shape = svg('rect', {class: box.state, x: left, y: top(box.lane), width: wide, height: tall(box.lane), rx: wide > 6 ? 2 : 0});
    shape.append(svg('title', {}, box.lines.join('\n')));
    drawing.append(shape);
    const [name, note] = box.lines;
    write(name.length > room ? (room >= 12 ? name.slice(0, room - 1) + '…' : box.short || name) : name, 16);
    if (note && tall(box.lane) > height) write(note, 34);
  }
  return drawing;
}

function lanesOf(label, data) {
  const view = make('div', {class: 'timeline', tabindex: '0'}), zooms = make('div', {class: 'zoom'}, 'zoom ');
  const room = Math.max(280, page.clientWidth - 40);
  const draw = (zoom) => {
    const middle = (view.scrollLeft + view.clientWidth / 2) / Math.max(1, view.scrollWidth);
    view.replaceChildren(drawLanes(label, data, room * zoom));
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
