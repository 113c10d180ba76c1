// Shows the instructions of a model's hottest functions with the share of the samples at each, as the run keeps them.

const kHotShare = 5;  // per cent of the function's samples, from which on a line stands out

function listingTable(listing) {
  const body = make('tbody');
  for (const [share, interval, samples, offset, instruction] of listing.rows) {
    body.append(make('tr', parseFloat(share) >= kHotShare ? {class: 'hot'} : {}, make('td', {class: 'number'}, share), make('td', {class: 'number'}, interval),
      make('td', {class: 'number'}, samples), make('td', {class: 'number'}, offset), make('td', {}, make('code', {}, instruction))));
  }
  const head = make('tr', {}, ...['share', '95 %', 'samples', 'offset', 'instruction'].map((name) => make('th', name === 'instruction' ? {} : {class: 'number'}, name)));
  return make('div', {class: 'scroll'}, make('table', {class: 'listing', 'aria-label': 'Instructions of ' + listing.title}, make('thead', {}, head), body));
}

function listings(model) {
  if (!model.flame_graph) return [];
  if (!model.listings.length) return [make('p', {class: 'quiet'}, model.without_listings)];
  return [make('h3', {}, 'Hottest functions'),
    make('p', {class: 'quiet'}, 'Instructions with their share of the samples of the function, and what lies around them. "…" stands for instructions that are left out.'),
    ...model.listings.map((listing) => make('details', {class: 'listing'}, make('summary', {}, listing.title), ...listing.notes.map((note) => make('p', {class: 'quiet'}, note)),
      listing.rows.length ? listingTable(listing) : null))];
}
