import { workerData } from 'node:worker_threads';
import { fillPageCache } from './page-cache.js';

// The entry point of the thread that fills the cache of the system: see `CacheFilling`.

/** The data with which the thread is started. */
export interface FillThreadData {
  readonly path: string;
  readonly bytesMax: number;
}

const { path, bytesMax } = workerData as FillThreadData;
fillPageCache(path, bytesMax);
