-- Blocks of each process of a profile, as a JSON array. null: one process has all, or they are not told apart.
alter table profiles add column processes text;
