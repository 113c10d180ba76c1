-- Instructions of a profile's hottest functions with their samples, as a JSON array. null: none were kept.
alter table profiles add column listings text;
