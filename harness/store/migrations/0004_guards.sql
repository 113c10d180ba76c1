-- Checksums of what no other one covers: the header of a run without its suite, what changes while a run goes on, and
-- tags. Null: not computed yet. reused_checksum is the sum of the checksums of the run's rows in reused_rows.
-- unguarded: some of the run came from an export of format 1, which guards neither samples nor derived records.
alter table runs add column brief_checksum bigint;
alter table runs add column progress_checksum bigint;
alter table runs add column reused_checksum bigint not null default 0;
alter table runs add column unguarded smallint not null default 0;
alter table tags add column checksum bigint;
