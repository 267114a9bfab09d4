import { join } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import { invariant } from '../../../base/invariant.js';
import { messageOf } from '../../../base/thrown.js';
import { PageFile } from '../check/page.js';
import { dataFile } from '../directory/file-kinds.js';
import { PageSeeker, type NeededEntries } from './page-seeker.js';

// The entry point of the thread that reads pages into the cache: see `ColdReads`.

export interface FetchThreadData {
  readonly directory: string;
}

export interface FetchReply {
  /** True when a page may have come from the disk. */
  readonly wasCold: boolean;
  readonly failure?: string;
}

const { directory } = workerData as FetchThreadData;
const port = parentPort;
invariant(port !== null, 'this module runs in a thread of its own');
const seeker = new PageSeeker(new PageFile(join(directory, dataFile)));

port.on('message', (all: readonly NeededEntries[]) => port.postMessage(replyTo(all)));

function replyTo(all: readonly NeededEntries[]): FetchReply {
  // Also counts reads of other threads, which at worst keeps the reads waiting here for longer.
  const before = process.resourceUsage().fsRead;
  try {
    seeker.read(all);
    return { wasCold: process.resourceUsage().fsRead !== before };
  } catch (error) {
    return { wasCold: false, failure: messageOf(error) };
  }
}
