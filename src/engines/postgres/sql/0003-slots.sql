insert into tabularium.kv_slot (slot, last) select n, 0 from generate_series(0, 1023) n
  on conflict (slot) do nothing;
