// Shows the trace of a runtime that a run keeps: what was executed against what the model needs, as two aligned timelines and tables.

const kDrawnCalls = 20000;

// The calls one below the other with the layers that they execute, each layer where its first call is.
function drawTrace(model, trace, width) {
  const height = 24, top = {executed: 18, expected: 62}, bottom = 90;
  const end = Math.max(...trace.calls.map((call) => call.start_seconds + call.seconds)), x = (seconds) => 8 + (width - 16) * (end ? seconds / end : 0);
  const drawing = svg('svg', {width, height: bottom + 20, role: 'img', 'aria-label': 'Executed and expected calls of ' + title(model)});
  const step = tickStep(end, Math.max(2, width / 110));
  for (let tick = 0; end && tick <= end; tick += step) {
    drawing.append(svg('line', {class: 'tick', x1: x(tick), x2: x(tick), y1: 4, y2: bottom}), svg('text', {x: x(tick) + 2, y: bottom + 14}, tick ? time(tick) : '0'));
  }
  const box = (lane, begin, seconds, state, name, lines) => {
    const left = x(begin), wide = Math.max(.5, x(begin + seconds) - left - .75), node = svg('rect', {class: state, x: left, y: top[lane], width: wide, height, rx: wide > 6 ? 2 : 0});
    node.append(svg('title', {}, lines.join('\n')));
    drawing.append(node);
    if (name.length <= Math.floor((wide - 8) / 6.2)) drawing.append(svg('text', {class: state, x: left + 4, y: top[lane] + 16}, name));
  };
  for (const lane of ['executed', 'expected']) drawing.append(svg('text', {x: 8, y: top[lane] - 4}, lane));
  const shown = new Set();
  for (const call of trace.calls) {
    const lost = call.kind !== 'compute';
    box('executed', call.start_seconds, call.seconds, lost ? 'critical' : 'plain', call.operation, [call.operation + ' ' + call.name, time(call.seconds), call.kind, call.implementation]);
    if (lost) continue;
    call.layers.forEach((layer, i) => {
      const share = call.seconds / call.layers.length;
      if (!shown.has(layer)) box('expected', call.start_seconds + i * share, share, 'plain', layer, [layer, 'of a call of ' + time(call.seconds)]);
      shown.add(layer);
    });
  }
  return drawing;
}

function traces(model) {
  const trace = model.trace;
  if (!trace || !trace.calls.length || trace.calls.length > kDrawnCalls) return [];
  const view = make('div', {class: 'timeline', tabindex: '0'});
  view.append(drawTrace(model, trace, Math.max(280, page.clientWidth - 40)));
  const span = Math.max(trace.execution_seconds, trace.traced_seconds), percent = (seconds) => ({text: (span ? 100 * seconds / span : 0).toFixed(1) + ' %', value: seconds});
  const where = trace.stack ? trace.stack + ', mode ' + trace.mode : trace.formats.join(' and ');
  const names = (layers) => layers.slice(0, 3).join(', ') + (layers.length > 3 ? ' and ' + (layers.length - 3) + ' more' : '');
  return [make('h3', {}, 'Executed and expected'),
    make('p', {class: 'quiet'}, 'Trace of ' + where + ': ' + time(trace.traced_seconds) + ' in ' + trace.calls.length + ' calls, ' +
      percent(trace.matched_seconds * (span / (trace.traced_seconds || 1))).text + ' of it matched to layers. Highlighted calls compute nothing.'), view,
    table('Findings: at most so much is lost, and times may overlap.', ['finding', '#time', '#share', 'layers', 'evidence'], trace.findings.filter((finding) => finding.loss)
      .map((finding) => [finding.finding, timeCell(finding.seconds), percent(finding.seconds), names(finding.layers), finding.evidence])),
    make('details', {}, make('summary', {}, 'Every call'), table('Calls in order, and the layers that they execute.', ['executed', '#time', 'implementation', 'expected'],
      trace.calls.map((call) => [(call.operation + ' ' + call.name).trim(), timeCell(call.seconds), call.implementation || '–', call.layers.length ? names(call.layers) : 'not matched'])))];
}
