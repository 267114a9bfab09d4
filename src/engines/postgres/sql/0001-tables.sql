-- The word tabularium before a point stands for the schema, whatever it is called.

create table tabularium.kv (
  key bytea primary key check (octet_length(key) between 1 and 2600),
  version bigint not null,
  value bytea not null
) with (fillfactor = 90, toast_tuple_target = 8160, autovacuum_vacuum_scale_factor = 0.02);
-- Compressed index entries would make the longest key that fits depend on its bytes.
alter table tabularium.kv alter column key set storage plain, alter column value set storage external;

-- Keys that are too long for a B-tree. `hash`: SHA-256 of the key. `head`: its first 2,000 bytes.
create table tabularium.kv_long (
  hash bytea primary key,
  head bytea not null,
  key bytea not null check (octet_length(key) > 2600),
  version bigint not null,
  value bytea not null
) with (toast_tuple_target = 8160);
alter table tabularium.kv_long
  alter column head set storage plain,
  alter column key set storage external,
  alter column value set storage external;
create index kv_long_head on tabularium.kv_long (head);

-- Partition prefixes share 1,024 slots. Whoever commits to a prefix holds its slot, which carries the
-- last version that was given to any of its prefixes.
create table tabularium.kv_slot (
  slot int primary key,
  last bigint not null
) with (fillfactor = 25, autovacuum_vacuum_scale_factor = 0.02);
insert into tabularium.kv_slot (slot, last) select n, 0 from generate_series(0, 1023) n;

-- One row for each connection that writes: the last batch it had applied, and what came of it.
create table tabularium.kv_session (
  session bigint primary key,
  batch bigint not null,
  closed boolean not null,
  outcome bytea,
  seen timestamptz not null default now()
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);
alter table tabularium.kv_session alter column outcome set storage external;
