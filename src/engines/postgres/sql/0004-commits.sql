-- Locks a session for its next batch. A batch of a closed session must never be applied: the process
-- that closed it relies on that.
create function tabularium.begin_batch(p_session bigint, p_batch bigint) returns void
language plpgsql as $$
begin
  perform 1 from tabularium.kv_session
    where session = p_session and batch = p_batch - 1 and not closed for update;
  if not found then
    raise exception using errcode = 'TB001', message = 'The session was closed.';
  end if;
end;
$$;

create function tabularium.end_batch(p_session bigint, p_batch bigint, p_outcome bytea) returns void
language sql as $$
  update tabularium.kv_session set batch = p_batch, outcome = p_outcome, seen = now()
    where session = p_session;
$$;

-- The counter in a value, or null when it holds none.
create function tabularium.counter_of(p_value bytea) returns bigint
language sql immutable as $$
  select case
    when octet_length(p_value) = 8
      and abs(('x' || encode(p_value, 'hex'))::bit(64)::bigint::numeric) <= 9007199254740991
    then ('x' || encode(p_value, 'hex'))::bit(64)::bigint
  end;
$$;

-- The additions of commits that stand so far, one row a key: their sum, the commits that add, and the present value.
create function tabularium.sums_of(
  p_statuses int[], add_commits int[], add_keys bytea[], add_deltas bigint[]
) returns table (key bytea, delta numeric, numbers int[], value bytea)
language sql as $$
  select s.key, s.delta, s.numbers, coalesce(kv.value, long.value)
  from (
    select a.key, sum(a.delta) as delta, array_agg(a.number order by a.number) as numbers
    from unnest(add_commits, add_keys, add_deltas) a(number, key, delta)
    where p_statuses[a.number] = 0
    group by a.key
  ) s
  left join tabularium.kv on kv.key = s.key
  left join tabularium.kv_long long
    on long.hash = case when octet_length(s.key) > 2600 then sha256(s.key) end;
$$;

-- Applies independent commits, numbered from 1: each whole or not at all. Of two that share a key,
-- none writes it but by an addition. Returns three numbers of eight bytes for each commit:
--   0, its version, 0
--   1, the index of the first check that failed, the version found there or -1
--   2, 0, the version of the guard or -1
--   3, 0, 0   an addition makes no counter
--   4, 0, 0   as 3, or another commit that adds to the same counter is invalid: to be tried alone
-- Each statement has a snapshot of its own, so statements after the locks see what the former holders
-- have committed. All processes lock in the same order.
create function tabularium.commit_batch(
  p_session bigint, p_batch bigint, p_now bigint, p_count int, p_slots int[], p_long boolean,
  guard_commits int[], guard_keys bytea[], guard_versions bigint[],
  check_commits int[], check_indexes int[], check_keys bytea[], check_versions bigint[],
  delete_commits int[], delete_keys bytea[],
  put_commits int[], put_keys bytea[], put_values bytea[],
  add_commits int[], add_keys bytea[], add_deltas bigint[]
) returns bytea
language plpgsql as $$
declare
  statuses int[] := array_fill(0, array[p_count]);
  firsts bigint[] := array_fill(0::bigint, array[p_count]);
  seconds bigint[] := array_fill(0::bigint, array[p_count]);
  each_row record;
  is_bad boolean;
  next_version bigint;
  packed bytea;
begin
  perform tabularium.begin_batch(p_session, p_batch);

  -- No slots: all of them.
  if cardinality(p_slots) = 0 then
    select max(held.last) into next_version from (
      select last from tabularium.kv_slot order by slot for update
    ) held;
  else
    select max(held.last) into next_version from (
      select last from tabularium.kv_slot where slot = any(p_slots) order by slot for update
    ) held;
  end if;
  next_version := greatest(p_now, next_version + 1);

  if cardinality(guard_commits) > 0 then
    for each_row in
      select g.number, coalesce(kv.version, long.version, -1) as actual
      from unnest(guard_commits, guard_keys, guard_versions) g(number, key, version)
      left join tabularium.kv on kv.key = g.key
      left join tabularium.kv_long long
        on long.hash = case when octet_length(g.key) > 2600 then sha256(g.key) end
      where coalesce(kv.version, long.version) is distinct from g.version
    loop
      statuses[each_row.number] := 2;
      seconds[each_row.number] := each_row.actual;
    end loop;
  end if;

  if cardinality(check_commits) > 0 then
    for each_row in
      select distinct on (probe.number) probe.number, probe.index, probe.actual
      from (
        select c.number, c.index, c.version, coalesce(kv.version, long.version, -1) as actual
        from unnest(check_commits, check_indexes, check_keys, check_versions)
          c(number, index, key, version)
        left join tabularium.kv on kv.key = c.key
        left join tabularium.kv_long long
          on long.hash = case when octet_length(c.key) > 2600 then sha256(c.key) end
      ) probe
      where case probe.version when -2 then probe.actual = -1 else probe.actual <> probe.version end
      order by probe.number, probe.index
    loop
      continue when statuses[each_row.number] <> 0;
      statuses[each_row.number] := 1;
      firsts[each_row.number] := each_row.index;
      seconds[each_row.number] := each_row.actual;
    end loop;
  end if;

  if cardinality(add_commits) > 0 then
    loop
      is_bad := false;
      for each_row in
        select s.numbers from tabularium.sums_of(statuses, add_commits, add_keys, add_deltas) s
        where case
          when s.value is null then abs(s.delta) > 9007199254740991
          else coalesce(abs(tabularium.counter_of(s.value) + s.delta) > 9007199254740991, true)
        end
      loop
        is_bad := true;
        for i in 1 .. cardinality(each_row.numbers) loop
          statuses[each_row.numbers[i]] := case cardinality(each_row.numbers) when 1 then 3 else 4 end;
        end loop;
      end loop;
      exit when not is_bad;
    end loop;
    select put_commits || coalesce(array_agg(s.numbers[cardinality(s.numbers)]), '{}'),
        put_keys || coalesce(array_agg(s.key), '{}'),
        put_values || coalesce(array_agg(
          int8send((coalesce(tabularium.counter_of(s.value), 0) + s.delta)::bigint)), '{}')
      into put_commits, put_keys, put_values
      from tabularium.sums_of(statuses, add_commits, add_keys, add_deltas) s;
  end if;

  if 0 = any(statuses) then
    if cardinality(p_slots) = 0 then
      update tabularium.kv_slot set last = next_version + p_count - 1;
    else
      update tabularium.kv_slot set last = next_version + p_count - 1 where slot = any(p_slots);
    end if;

    if cardinality(delete_commits) > 0 then
      delete from tabularium.kv using unnest(delete_commits, delete_keys) d(number, key)
        where kv.key = d.key and statuses[d.number] = 0;
      if p_long then
        delete from tabularium.kv_long using unnest(delete_commits, delete_keys) d(number, key)
          where kv_long.hash = case when octet_length(d.key) > 2600 then sha256(d.key) end
            and statuses[d.number] = 0;
      end if;
    end if;

    if cardinality(put_commits) > 0 then
      insert into tabularium.kv (key, version, value)
        select p.key, next_version + p.number - 1, p.value
        from unnest(put_commits, put_keys, put_values) p(number, key, value)
        where statuses[p.number] = 0 and octet_length(p.key) <= 2600
        order by p.key
        on conflict (key) do update set version = excluded.version, value = excluded.value;
      if p_long then
        insert into tabularium.kv_long (hash, head, key, version, value)
          select sha256(p.key), substring(p.key from 1 for 2000), p.key,
            next_version + p.number - 1, p.value
          from unnest(put_commits, put_keys, put_values) p(number, key, value)
          where statuses[p.number] = 0 and octet_length(p.key) > 2600
          order by p.key
          on conflict (hash) do update set version = excluded.version, value = excluded.value;
      end if;
    end if;
  end if;

  select string_agg(
      int8send(s.status::bigint)
        || int8send(case s.status when 0 then next_version + s.number - 1 else firsts[s.number] end)
        || int8send(seconds[s.number]),
      ''::bytea order by s.number)
    into packed
    from unnest(statuses) with ordinality s(status, number);
  perform tabularium.end_batch(p_session, p_batch, packed);
  return packed;
end;
$$;

-- Writes entries that keep their versions. Later commits, of whatever prefix, exceed the floor, so all
-- slots are taken. Returns what `commit_batch` returns for one commit.
create function tabularium.ingest_batch(
  p_session bigint, p_batch bigint, p_floor bigint, guard_key bytea, guard_version bigint,
  delete_keys bytea[], entry_keys bytea[], entry_versions bigint[], entry_values bytea[]
) returns bytea
language plpgsql as $$
declare
  actual bigint;
  packed bytea;
begin
  perform tabularium.begin_batch(p_session, p_batch);
  perform 1 from tabularium.kv_slot order by slot for update;
  actual := coalesce(
    (select version from tabularium.kv where key = guard_key),
    (select version from tabularium.kv_long
      where octet_length(guard_key) > 2600 and hash = sha256(guard_key)));
  if guard_key is not null and actual is distinct from guard_version then
    packed := int8send(2) || int8send(0) || int8send(coalesce(actual, -1));
  else
    delete from tabularium.kv where key = any(delete_keys);
    delete from tabularium.kv_long where hash in (
      select sha256(d.key) from unnest(delete_keys) d(key) where octet_length(d.key) > 2600);
    insert into tabularium.kv (key, version, value)
      select e.key, e.version, e.value
      from unnest(entry_keys, entry_versions, entry_values) e(key, version, value)
      where octet_length(e.key) <= 2600
      order by e.key
      on conflict (key) do update set version = excluded.version, value = excluded.value;
    insert into tabularium.kv_long (hash, head, key, version, value)
      select sha256(e.key), substring(e.key from 1 for 2000), e.key, e.version, e.value
      from unnest(entry_keys, entry_versions, entry_values) e(key, version, value)
      where octet_length(e.key) > 2600
      order by e.key
      on conflict (hash) do update set version = excluded.version, value = excluded.value;
    update tabularium.kv_slot set last = p_floor where last < p_floor;
    packed := int8send(0) || int8send(p_floor) || int8send(0);
  end if;
  perform tabularium.end_batch(p_session, p_batch, packed);
  return packed;
end;
$$;
