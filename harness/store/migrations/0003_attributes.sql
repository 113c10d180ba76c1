-- What a backend knows of how a variant is executed, as one JSON object of texts, each set once: most
-- rows of a variant have the same. Readings are of the row alone: {"name":{"median":…,"low":…,"high":…,"n":…}}.
create table attribute_sets (
  id integer primary key,
  text text not null unique
);

alter table measurements add column attributes integer references attribute_sets (id);
alter table measurements add column readings text;
