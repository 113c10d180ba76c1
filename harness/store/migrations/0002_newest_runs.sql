-- Finds the newest run of a series, and the newest set of rows to reuse, without reading its history.
-- timed_run: has a time from a full or confirming measurement. settled_run: has that, or a final refusal.
create table newest_runs (
  layer_key integer not null references layer_keys (id),
  cache text not null,
  environment integer not null references environments (number),
  timed_run integer references runs (number),
  timed_started bigint,
  settled_run integer not null references runs (number),
  settled_started bigint not null,
  primary key (layer_key, cache, environment)
);

insert into newest_runs
  (layer_key, cache, environment, timed_run, timed_started, settled_run, settled_started)
select s.layer_key, s.cache, s.environment,
       max(case when s.timed_rank = 1 and s.timed = 1 then s.run end),
       max(case when s.timed_rank = 1 and s.timed = 1 then s.started end),
       max(case when s.settled_rank = 1 then s.run end),
       max(case when s.settled_rank = 1 then s.started end)
from (
  select g.*,
         row_number() over (partition by g.layer_key, g.cache, g.environment
                            order by g.timed desc, g.started desc, g.run desc) as timed_rank,
         row_number() over (partition by g.layer_key, g.cache, g.environment
                            order by g.started desc, g.run desc) as settled_rank
  from (
    select m.layer_key, m.cache, r.environment, m.run, r.started,
           max(case when m.outcome in ('ok', 'unstable') then 1 else 0 end) as timed
    from measurements m join runs r on r.number = m.run
    where m.purpose in ('full', 'confirm')
      and m.outcome in ('ok', 'unstable', 'unsupported', 'wrong_result', 'out_of_memory')
    group by m.layer_key, m.cache, r.environment, m.run, r.started
  ) g
) s
group by s.layer_key, s.cache, s.environment;
