-- Tables of a result store. Plain SQL: ids are given by the program; moments are microseconds since
-- 1970 UTC; durations are seconds; flags are 0 or 1; checksums are XXH64 of the documented content.
create table environments (
  number integer primary key,
  id text not null unique,
  identity text not null
);

create table suites (
  hash text primary key,
  resolved text not null
);

create table runs (
  number integer primary key,
  id text not null unique,
  suite text not null,
  suite_hash text not null,
  resolved_hash text not null references suites (hash),
  backend text not null,
  stack text not null,
  environment integer not null references environments (number),
  facts text not null,
  shard text not null,
  command text not null,
  started bigint not null,
  state text not null,
  finished bigint,
  next_position bigint not null,
  rows_ok bigint not null,
  rows_failed bigint not null,
  checksum bigint not null
);

create table tags (
  tag text primary key,
  run integer not null references runs (number)
);

create table layer_keys (
  id integer primary key,
  text text not null unique
);

create table variants (
  id integer primary key,
  text text not null unique
);

-- id = run * 2^32 + position in the run
create table measurements (
  id integer primary key,
  run integer not null references runs (number),
  layer_key integer not null references layer_keys (id),
  variant integer not null references variants (id),
  cache text not null,
  purpose text not null,
  outcome text not null,
  reason text,
  library_choice smallint not null,
  reference_implementation smallint not null,
  samples bytea,
  repetitions bigint not null,
  n bigint not null,
  median_seconds double precision not null,
  low_seconds double precision not null,
  high_seconds double precision not null,
  min_seconds double precision not null,
  p90_seconds double precision not null,
  mean_seconds double precision not null,
  min_has_company smallint not null,
  floor_seconds double precision not null,
  creation_seconds double precision,
  first_call_seconds double precision,
  reorder_seconds double precision,
  workspace_bytes bigint not null,
  maximum_error double precision,
  output_hash text,
  involuntary_switches bigint not null,
  steal_ratio double precision,
  load double precision,
  pressure_ratio double precision,
  disturbed smallint not null,
  attempt bigint not null,
  process bigint not null,
  started bigint not null,
  wall_seconds double precision not null,
  checksum bigint not null
);

-- The run first: a run appends at the end of the index instead of all over it.
create index measurements_by_run on measurements (run, layer_key, cache);

-- rows of earlier runs that a run took over
create table reused_rows (
  run integer not null references runs (number),
  measurement bigint not null references measurements (id),
  primary key (run, measurement)
);

create index reused_rows_by_measurement on reused_rows (measurement);

create table derived (
  id integer primary key,
  run integer not null references runs (number),
  kind text not null,
  subject text not null,
  analysis_version text not null,
  payload text not null,
  computed bigint not null,
  checksum bigint not null
);

create index derived_by_run on derived (run, kind);

create table derived_inputs (
  derived integer not null references derived (id),
  measurement bigint not null references measurements (id),
  primary key (derived, measurement)
);

create index derived_inputs_by_measurement on derived_inputs (measurement);
