// Draws Rammer's schedule of a model: a lane for each processor, and on it the parts of steps. Parts of one step lie side by side.

function drawSchedule(model, schedule, width) {
  const height = 24, gap = 4, total = schedule.schedule_seconds, top = (processor) => 8 + processor * (height + gap);
  const x = (seconds) => 8 + (width - 16) * (total ? seconds / total : 0), bottom = top(schedule.processors) + 2;
  const drawing = svg('svg', {width, height: bottom + 20, role: 'img', 'aria-label': 'Schedule of ' + title(model) + ' on ' + schedule.processors + ' processors'});
  const step = tickStep(total, Math.max(2, width / 110));
  for (let tick = 0; total && tick <= total; tick += step) {
    drawing.append(svg('line', {class: 'tick', x1: x(tick), x2: x(tick), y1: 4, y2: bottom}), svg('text', {x: x(tick) + 2, y: bottom + 14}, tick ? time(tick) : '0'));
  }
  const shared = new Map();
  for (const [step] of schedule.parts) shared.set(step, (shared.get(step) || 0) + 1);
  for (const [step, processor, begin, end] of schedule.parts) {
    const left = x(begin), wide = Math.max(1, x(end) - left - .75), name = schedule.steps[step].name, count = shared.get(step);
    const box = svg('rect', {class: count > 1 ? 'plain' : 'critical', x: left, y: top(processor), width: wide, height, rx: wide > 6 ? 2 : 0});
    box.append(svg('title', {}, [name, time(end - begin) + ' on ' + count + (count > 1 ? ' processors' : ' processor'), schedule.steps[step].key].join('\n')));
    drawing.append(box);
    const room = Math.floor((wide - 8) / 6.2);
    if (name.length <= room) drawing.append(svg('text', {class: count > 1 ? 'plain' : 'critical', x: left + 4, y: top(processor) + 16}, name));
  }
  return drawing;
}

function schedules(model) {
  const schedule = model.schedules.find((s) => s.mode === 'fusion' && s.complete);
  if (!schedule || schedule.processors > 64 || schedule.parts.length > 20000) return [];
  const view = make('div', {class: 'timeline', tabindex: '0'});
  view.append(drawSchedule(model, schedule, Math.max(280, page.clientWidth - 40)));
  return [make('h3', {}, 'Steps that share the processors'),
    make('p', {class: 'quiet'}, time(schedule.schedule_seconds) + ' by Rammer\'s wavefront schedule, ' + time(schedule.sequential_seconds) + ' one after the other, and at least ' +
      time(schedule.occupancy_seconds) + ' (occupancy). Each lane is one of ' + schedule.processors + ' processors. A highlighted step has a processor to itself. ' +
      'Times come from this run and from runs with fewer threads. Caches and memory that the processors share are left out.'), view];
}
