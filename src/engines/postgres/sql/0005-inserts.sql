-- As `commit_batch`, for commits that do nothing but insert keys of up to 2,600 bytes. `p_commits`:
-- the number of the commit of each key, in order. When all keys were absent it returns two numbers:
-- the version of the first commit, and how many there are.
--
-- Slots are locked in the order of `commit_batch`: a loop over the given ones updates one after the
-- other. A hash join would do so in the order of the heap, so there is none, whatever the connection
-- has set. The session's row comes last: a batch that finds its session closed is undone.
create function tabularium.insert_batch(
  p_session bigint, p_batch bigint, p_now bigint, p_count int, p_slots int[],
  p_commits int[], p_keys bytea[], p_values bytea[]
) returns bytea
language plpgsql set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off as $$
declare
  least_last bigint;
  greatest_last bigint;
  base bigint;
  inserted int;
  failed_commits int[];
  packed bytea;
begin
  with raised as (
    update tabularium.kv_slot slots set last = greatest(slots.last + 1, p_now) + p_count - 1
      from unnest(p_slots) held(slot) where slots.slot = held.slot
      returning slots.last
  )
  select min(last), max(last) into least_last, greatest_last from raised;
  if least_last < greatest_last then
    update tabularium.kv_slot set last = greatest_last where slot = any(p_slots);
  end if;
  base := greatest_last - p_count + 1;

  insert into tabularium.kv (key, version, value)
    select p.key, base + p.number - 1, p.value
    from unnest(p_commits, p_keys, p_values) p(number, key, value)
    on conflict (key) do nothing;
  get diagnostics inserted = row_count;

  if inserted = cardinality(p_keys) then
    packed := int8send(base) || int8send(p_count::bigint);
  else
    -- Keys that were there have another version than this batch gives.
    with probe as (
      select p.number, kv.version,
        row_number() over (partition by p.number order by p.place) - 1 as index
      from unnest(p_commits, p_keys) with ordinality p(number, key, place)
      join tabularium.kv on kv.key = p.key
    ), failed as (
      select distinct on (probe.number) probe.number, probe.index, probe.version
      from probe where probe.version <> base + probe.number - 1
      order by probe.number, probe.index
    )
    select array_agg(failed.number) filter (where failed.number is not null),
        string_agg(
          case when failed.number is null
            then int8send(0) || int8send(base + each.number - 1) || int8send(0)
            else int8send(1) || int8send(failed.index) || int8send(failed.version)
          end,
          ''::bytea order by each.number)
      into failed_commits, packed
      from generate_series(1, p_count) each(number)
      left join failed on failed.number = each.number;
    if cardinality(p_keys) > p_count then
      delete from tabularium.kv using unnest(p_commits, p_keys) p(number, key)
        where kv.key = p.key and p.number = any(failed_commits) and kv.version = base + p.number - 1;
    end if;
  end if;

  update tabularium.kv_session set batch = p_batch, outcome = packed, seen = now()
    where session = p_session and batch = p_batch - 1 and not closed;
  if not found then
    raise exception using errcode = 'TB001', message = 'The session was closed.';
  end if;
  return packed;
end;
$$;
