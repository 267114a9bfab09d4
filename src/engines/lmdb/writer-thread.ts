import { parentPort, workerData } from 'node:worker_threads';
import type { Bytes } from '../../base/bytes.js';
import { systemClock } from '../../base/clock.js';
import { invariant } from '../../base/invariant.js';
import { isOwner } from './directory-lock.js';
import { reasonText } from './disk-error.js';
import { openAgain } from './environment.js';
import { GroupWriter } from './group-writer.js';
import { unpackIngestion, type PackedIngestion } from './packed-ingestion.js';
import { writeAtOnce } from './write-transaction.js';

// The entry point of the thread that writes ingestions: see `ThreadIngester`.

/** The data that the thread is started with. */
export interface WriterThreadData {
  readonly directory: string;
  readonly sync: boolean;
  /** The record of the process that owns the directory. */
  readonly ownerRecord: Bytes;
}

export type ThreadRequest = PackedIngestion | 'close';

/** `taken-over`: nothing was written, because another process owns the directory. */
export type ThreadReply =
  | { readonly kind: 'written' }
  | { readonly kind: 'taken-over' }
  | { readonly kind: 'failed'; readonly reason: string };

const data = workerData as WriterThreadData;
const port = parentPort;
invariant(port !== null, 'this module runs in a thread of its own');
const environment = openAgain(data.directory, { sync: data.sync });
const writer = new GroupWriter(environment, systemClock);

port.on('message', (request: ThreadRequest) => {
  if (request === 'close') void environment.root.close().then(() => port.close());
  else port.postMessage(replyTo(request));
});

function replyTo(packed: PackedIngestion): ThreadReply {
  const ingestion = unpackIngestion(packed);
  try {
    const isHeld = writeAtOnce(environment.root, () => {
      if (!isOwner(environment, data.ownerRecord)) return false;
      writer.apply([{ kind: 'ingest', ingestion }]);
      return true;
    });
    return { kind: isHeld ? 'written' : 'taken-over' };
  } catch (error) {
    return { kind: 'failed', reason: reasonText(error) };
  }
}
