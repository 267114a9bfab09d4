import { workerData } from 'node:worker_threads';
import { fillPageCache } from './page-cache.js';

// The entry point of the thread that fills the cache of the system: see `CacheFilling`.

/** What the thread is started with. */
export interface FillThreadData {
  readonly path: string;
  readonly bytesMax: number;
}

const { path, bytesMax } = workerData as FillThreadData;
fillPageCache(path, bytesMax);
