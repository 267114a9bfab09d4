import type { QueueService } from '../../src/services/queues/queue-service.js';

/** What suites do to queues, in process or over HTTP: by the same names and with the same values. */
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

/** Known only in process: over HTTP clients of one kind never do it. */
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
