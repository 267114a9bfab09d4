import type { QueueService } from '../../src/services/queues/queue-service.js';

/** The operations of suites on queues, in process or over HTTP, with the same names and values. */
export type QueueOperations = Pick<
  QueueService,
  | 'createQueue'
  | 'deleteQueue'
  | 'listQueues'
  | 'getQueue'
  | 'setMetadata'
  | 'putMessage'
  | 'getMessages'
  | 'peekMessages'
  | 'updateMessage'
  | 'deleteMessage'
  | 'clearMessages'
>;

/** Exists only in process: HTTP has no such operations. */
export type QueueHousekeeping = Pick<
  QueueService,
  'getSignedIdentifiers' | 'setSignedIdentifiers' | 'reclaim'
>;

/** A refusal that came over HTTP. */
export class WireRefusal extends Error {
  override readonly name = 'WireRefusal';
  readonly code: string;
  readonly status: number;

  constructor(status: number, code: string, text: string) {
    super(`${status} ${code}: ${text}`);
    this.status = status;
    this.code = code;
  }
}
