-- The process that works on a run. fence grows whenever another process takes the run over: who holds a smaller one may
-- no longer write to the run. Whether the owner lives is not told by this row, but by a lock beside the store.
create table leases (
  run integer primary key references runs (number),
  fence bigint not null,
  owner text not null,
  taken bigint not null
);
