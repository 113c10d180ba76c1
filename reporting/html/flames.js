// Draws a flame graph. A click on a frame shows it alone, and a field marks frames by their names.

const kFrameHeight = 20;

// The share of all samples that frames of one text hold. What such a frame calls counts once.
function shareOf(frames, marked) {
  let end = 0, samples = 0;
  for (const frame of frames) {
    if (!marked(frame) || frame.first + frame.samples <= end) continue;
    samples += frame.samples;
    end = frame.first + frame.samples;
  }
  return samples / frames[0].samples;
}

function flamesOf(label, data) {
  const frames = data.map(([name, first, samples, row, fill]) => ({name, first, samples, row, fill}));
  const width = Math.max(280, page.clientWidth - 40), percent = (share) => (100 * share).toFixed(2) + ' %';
  const drawing = svg('svg', {class: 'flame', width, height: kFrameHeight * (1 + Math.max(...frames.map((frame) => frame.row))), role: 'group', 'aria-label': label});
  const search = make('input', {type: 'search', placeholder: 'function or layer', 'aria-label': 'Mark frames: ' + label});
  const answer = make('output', {class: 'quiet'}), back = make('button', {type: 'button', disabled: ''}, 'whole model');
  let focus = frames[0];
  const draw = () => {
    const text = search.value.trim().toLowerCase(), marked = (frame) => text !== '' && frame.name.toLowerCase().includes(text);
    const begin = focus.first, end = focus.first + focus.samples, x = (sample) => width * (sample - begin) / focus.samples;
    drawing.replaceChildren();
    for (const frame of frames) {
      // What holds the focus is as wide as the picture; what lies beside it is not drawn.
      const left = Math.max(begin, frame.first), right = Math.min(end, frame.first + frame.samples), wide = x(right) - x(left);
      if (wide < .2) continue;
      const group = svg('g', {class: (marked(frame) ? 'marked ' : '') + (frame.row < focus.row ? 'above' : ''), tabindex: '0', role: 'button'});
      group.append(svg('title', {}, frame.name + '\n' + frame.samples + ' samples, ' + percent(frame.samples / frames[0].samples) + ' of the model' +
        (focus === frames[0] ? '' : ', ' + percent((right - left) / focus.samples) + ' of ' + focus.name)),
      svg('rect', {x: x(left), y: frame.row * kFrameHeight, width: wide, height: kFrameHeight - 1, style: 'fill: ' + frame.fill}));
      const letters = Math.floor((wide - 6) / 6.6), shown = frame.name.length <= letters ? frame.name : letters > 3 ? frame.name.slice(0, letters - 1) + '…' : '';
      if (shown) group.append(svg('text', {x: x(left) + 3, y: (frame.row + 1) * kFrameHeight - 6}, shown));
      const zoom = () => { focus = frame; draw(); };
      group.addEventListener('click', zoom);
      group.addEventListener('keydown', (event) => { if (event.key === 'Enter') zoom(); });
      drawing.append(group);
    }
    back.disabled = focus === frames[0];
    answer.textContent = text ? percent(shareOf(frames, marked)) + ' of the samples are in marked frames' : '';
  };
  search.addEventListener('input', draw);
  back.addEventListener('click', () => { focus = frames[0]; draw(); });
  draw();
  return [make('p', {class: 'flame'}, search, ' ', back, ' ', answer), make('div', {class: 'timeline', tabindex: '0'}, drawing)];
}
