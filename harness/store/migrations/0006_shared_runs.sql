-- Runs that several processes measure together, and the names by which they are joined.
create table shared_runs (
  run integer primary key references runs (number),
  name text not null unique
);

-- Processes that joined a shared run, numbered from 1 and never again. expires: end of the lease, by the clock of the
-- server. stored_writes: end of what the process has stored, by its own count, so that nothing is stored twice.
create table members (
  run bigint not null references shared_runs (run),
  member bigint not null,
  host text not null,
  owner text not null,
  expires bigint not null,
  stored_writes bigint not null,
  primary key (run, member)
);

-- Work of shared runs. progress: 0 open, 1 measured once, 2 done. member: who has the item; its lease is in members.
-- fence grows whenever the item gets another owner: a result of an earlier one is refused.
create table work (
  run bigint not null references shared_runs (run),
  item text not null,
  stage bigint not null,
  place bigint not null,
  progress bigint not null,
  member bigint,
  fence bigint not null,
  primary key (run, item)
);

create index work_by_stage on work (run, stage, progress, place);
