import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { openStore } from '../../src/app/backend.js';
import { openData } from '../../src/app/open-data.js';
import { settingsOf } from '../../src/app/settings.js';
import { manualClock } from '../../src/base/clock.js';
import { forwardClock } from '../../src/base/forward-clock.js';
import { contentFolder } from '../../src/content/files/content-directory.js';
import {
  extentsFolder,
  idOf,
  isOwnerFile,
  placeNamed,
} from '../../src/content/files/extent-place.js';
import { BlobService } from '../../src/services/blobs/blob-service.js';
import { assertTidy, settle } from '../support/blob-world.js';
import { manualTimers } from '../support/manual-timers.js';

const weekMicros = 8 * 24 * 3600 * 1_000_000;

/** The extents that are on the disk. */
async function extentsIn(directory: string): Promise<Set<string>> {
  const root = join(directory, contentFolder, extentsFolder);
  const files = await readdir(root, { recursive: true, withFileTypes: true });
  const ids = files
    .filter((entry) => entry.isFile() && !isOwnerFile(entry.name))
    .map(({ parentPath, name }) => {
      const [session = ''] = parentPath.slice(root.length + 1).split('/');
      const place = placeNamed(session, name);
      assert.ok(place !== undefined, `${parentPath}/${name} is an extent`);
      return idOf(place);
    });
  return new Set(ids);
}

/**
 * Sweeps the data of a server that has ended, a week later: what is there is named, and what is
 * named is there. Returns the number of extents.
 */
export async function sweepEverything(directory: string): Promise<number> {
  const settings = settingsOf({ location: directory });
  const { randomness } = settings;
  const data = await openData(settings, () => openStore(settings, 'exclusive'));
  try {
    const { store, content } = data;
    const clock = manualClock(settings.storageClock.nowMicros() + weekMicros);
    const timers = manualTimers();
    const options = { store, content, clock: forwardClock(clock), randomness, timers };
    const services = [new BlobService(options)];
    await settle({ clock, services });
    const ids = await extentsIn(directory);
    await assertTidy({ store, content: { ids } });
    return ids.size;
  } finally {
    await data.close();
  }
}
