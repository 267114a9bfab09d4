-- The word tabularium before a point stands for the schema, whatever it is called. CockroachDB and
-- YugabyteDB have these tables as well.

create table tabularium.kv (
  key bytea not null check (octet_length(key) between 1 and 2600),
  version bigint not null,
  value bytea not null,
  primary key (key)
);

-- Keys that are too long for a B-tree. `hash`: SHA-256 of the key. `head`: its first 2,000 bytes.
create table tabularium.kv_long (
  hash bytea primary key,
  head bytea not null,
  key bytea not null check (octet_length(key) > 2600),
  version bigint not null,
  value bytea not null
);
create index kv_long_head on tabularium.kv_long (head asc);

-- Partition prefixes share 1,024 slots. A commit locks the slot of its prefix, which has the last
-- version that was given to any of the prefixes of the slot.
create table tabularium.kv_slot (
  slot int4 primary key,
  last bigint not null
);

-- One row for each writing connection: its last applied batch, and the outcomes of that.
create table tabularium.kv_session (
  session bigint primary key,
  batch bigint not null,
  closed boolean not null,
  outcome bytea,
  seen timestamptz not null default now()
);
