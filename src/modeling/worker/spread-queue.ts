import { systemRandomness, type Randomness } from '../../base/randomness.js';
import { DefinitionError } from '../rows/model-error.js';
import { isTransient } from '../table/transient.js';
import type { SendingQueue } from './queue-port.js';

/** The options of `spreadQueueOf`. */
export interface SpreadQueueOptions {
  /** Chooses the first queue, so that programs do not all begin with the same; the system's. */
  readonly randomness?: Randomness;
}

/**
 * Several queues as one to send to, for more messages than one queue takes: about 2,000 a second.
 * Messages go to the queues in turn, with one put each. Where a queue is busy or does not answer,
 * the next one gets the message, at most once each; the error of the last one is thrown when all
 * fail. A queue that failed without an answer may have the message as well, with the same id.
 *
 * Workers serve all of them: `sources` of `QueueWorker`. Throws `DefinitionError` without a queue.
 */
export function spreadQueueOf(
  queues: readonly SendingQueue[],
  { randomness = systemRandomness }: SpreadQueueOptions = {},
): SendingQueue {
  const [first] = queues;
  if (first === undefined) throw new DefinitionError('a spread queue needs a queue to send to');
  let turn = (randomness.bytes(1)[0] ?? 0) % queues.length;
  return {
    name: queues.map(({ name }) => name).join(', '),
    async sendMessage(text, options) {
      const begin = turn;
      turn = (turn + 1) % queues.length;
      for (let tried = 1; ; tried += 1) {
        const queue = queues[(begin + tried - 1) % queues.length] ?? first;
        try {
          return await queue.sendMessage(text, options);
        } catch (error) {
          if (tried === queues.length || !isTransient(error)) throw error;
        }
      }
    },
  };
}
