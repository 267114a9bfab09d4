-- How PostgreSQL stores the tables.

alter table tabularium.kv
  set (fillfactor = 90, toast_tuple_target = 8160, autovacuum_vacuum_scale_factor = 0.02);
-- Compressed index entries would make the longest key that fits depend on its bytes.
alter table tabularium.kv alter column key set storage plain, alter column value set storage external;

alter table tabularium.kv_long set (toast_tuple_target = 8160);
alter table tabularium.kv_long
  alter column head set storage plain,
  alter column key set storage external,
  alter column value set storage external;

alter table tabularium.kv_slot set (fillfactor = 25, autovacuum_vacuum_scale_factor = 0.02);

alter table tabularium.kv_session set (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);
alter table tabularium.kv_session alter column outcome set storage external;
