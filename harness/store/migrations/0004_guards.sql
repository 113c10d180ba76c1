-- Checksums of what no other one covers: the header of a run without its suite, what changes while a run goes on, and
-- tags. Null: not computed yet. reused_checksum is the sum of the checksums of the run's rows in reused_rows.
alter table runs add column brief_checksum bigint;
alter table runs add column progress_checksum bigint;
alter table runs add column reused_checksum bigint not null default 0;
alter table tags add column checksum bigint;
