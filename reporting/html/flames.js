// Shows where inside the layers of a model its time goes, by the profile that the run keeps. The picture is an image of its
// own, so that nothing in it becomes part of the page.
function flames(model) {
  if (!model.flame_graph) return [];
  const picture = make('img', {class: 'flame', alt: 'Flame graph of ' + title(model), src: 'data:image/svg+xml;charset=utf-8,' + encodeURIComponent(model.flame_graph.svg)});
  return [make('h3', {}, 'Inside the layers'),
    make('p', {class: 'quiet'}, 'Samples of executions in the mode ' + model.flame_graph.mode + ': the model, its steps in their order, and the functions of each, as wide as their shares. `plumb profile RUN` lists them.'),
    make('div', {class: 'timeline', tabindex: '0'}, picture)];
}
