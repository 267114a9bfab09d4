import assert from 'node:assert/strict';
import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { systemClock } from '../base/clock.js';
import { openMemoryStore } from '../engines/memory/store.js';
import { placeOfContent } from './content-place.js';

void it('is that of the server which came first, and all others are told of it', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'tabularium-place-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const store = await openMemoryStore({ clock: systemClock });
  const directory = join(folder, 'first');
  const first = { machine: 'alpha', directory };
  assert.equal(await placeOfContent(store, first), undefined);
  assert.equal(await placeOfContent(store, first), undefined);
  const place = `alpha in ${directory}`;
  assert.equal(await placeOfContent(store, { machine: 'beta', directory }), place);
  const elsewhere = { machine: 'alpha', directory: join(folder, 'second') };
  assert.equal(await placeOfContent(store, elsewhere), place);
  await symlink(directory, join(folder, 'link'));
  const linked = { machine: 'alpha', directory: join(folder, 'link') };
  assert.equal(await placeOfContent(store, linked), undefined);
});
