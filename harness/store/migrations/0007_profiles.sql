-- Profiles of models by sampling, one of each model and mode of a run. blocks and the counts of profile_samples are
-- varints: see docs/reference/store.md. checksum covers the profile with its steps, functions and samples.
create table profiles (
  id integer primary key,
  run integer not null references runs (number),
  subject text not null,
  taken bigint not null,
  model text not null,
  mode text not null,
  stack text not null,
  clock text not null,
  refused text not null,
  asked_hertz double precision not null,
  hertz double precision not null,
  threads bigint not null,
  lost_samples bigint not null,
  executions bigint not null,
  unsampled_seconds double precision not null,
  blocks bytea not null,
  problems text not null,
  checksum bigint not null
);

create index profiles_by_run on profiles (run);

-- Functions of all profiles, each once. hash: of name, image and build_id, which may be too long for an index.
create table functions (
  id integer primary key,
  hash bigint not null,
  name text not null,
  image text not null,
  build_id text not null
);

create index functions_by_hash on functions (hash);

-- Steps of a profiled program, numbered from 0. layers: their numbers in the model, as JSON.
create table profile_steps (
  profile bigint not null references profiles (id),
  step bigint not null,
  name text not null,
  layers text not null,
  layer_key bigint references layer_keys (id),
  variant bigint references variants (id),
  reorder smallint not null,
  primary key (profile, step)
);

-- Samples of a function in a step. step -1: between steps.
create table profile_samples (
  profile bigint not null references profiles (id),
  step bigint not null,
  function bigint not null references functions (id),
  samples bigint not null,
  counts bytea not null,
  primary key (profile, step, function)
);
