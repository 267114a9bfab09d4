import { checkMetadata } from '../../services/containers/metadata.js';
import { timeToLiveSecondsDefault } from '../../services/queues/limits.js';
import { encodeMessageText } from '../../services/queues/message-text.js';
import { checkQueueName } from '../../services/queues/queue-name.js';
import type { QueueService } from '../../services/queues/queue-service.js';
import type { NewMessage, QueueStatus } from '../../services/queues/types.js';
import type { Metadata } from '../../model/resources/metadata.js';
import { StorageError } from '../../model/errors/storage-error.js';
import { isXmlText } from '../../wire/xml/escape.js';
import {
  SeedError,
  type SeedMessage,
  type SeedPath,
  type SeedProgress,
  type SeedQueue,
} from './seed-data.js';
import { SeedMistakes } from './seed-mistakes.js';
import { refused, seedErrorOf } from './seed-tables.js';

/** The queue to create, and the mode. */
export interface QueueTarget {
  readonly queues: QueueService;
  readonly account: string;
  readonly queue: string;
  readonly path: SeedPath;
  readonly ifExists: 'skip' | 'replace';
  /** Called with the number of messages put, or a skipped queue. */
  readonly done: (more: Partial<SeedProgress>) => void;
}

/**
 * Metadata that mark an incomplete queue or blob, which lacks some of its messages or bytes. After
 * an interruption the mark stays, and the next run continues.
 */
export const unfinished: Metadata = [['tabularium_seed', 'unfinished']];

/** Throws `SeedError` for mistakes that can be found before anything is created. */
export function checkSeedQueue(name: string, content: SeedQueue, path: SeedPath): void {
  const mistakes = new SeedMistakes();
  noteQueueMistakes(name, content, path, mistakes);
  mistakes.throwAll();
}

/** Records mistakes that can be found before anything is created. */
export function noteQueueMistakes(
  name: string,
  content: SeedQueue,
  path: SeedPath,
  mistakes: SeedMistakes,
): void {
  mistakes.note(() => refused(path, () => checkQueueName(name)));
  const { messages = [] } = content;
  mistakes.note(() => refused([...path, 'metadata'], () => checkMetadata(metadataOf(content))));
  for (const [at, message] of messages.entries()) {
    if (mistakes.isFull) return;
    mistakes.note(() => checkSeedMessage(message, [...path, 'messages', at]));
  }
}

function checkSeedMessage(message: string | SeedMessage, path: SeedPath): void {
  const { text, visibilitySeconds, timeToLiveSeconds } = messageOf(message);
  refused(path, () => void encodeMessageText(text));
  if (!isXmlText(text)) {
    throw new SeedError(path, 'the text has characters that no message can have');
  }
  if (visibilitySeconds >= timeToLiveSeconds) {
    throw new SeedError(path, 'visibilitySeconds must be less than the message lives');
  }
}

/** Creates the queue and puts its messages. */
export async function seedQueue(target: QueueTarget, content: SeedQueue): Promise<void> {
  const { queues, account, queue, path } = target;
  const metadata = metadataOf(content);
  const messages = (content.messages ?? []).map(messageOf);
  try {
    const status = await statusOf(target);
    if (status === undefined) {
      await queues.createQueue(account, queue, messages.length === 0 ? metadata : unfinished);
      if (messages.length === 0) return;
    } else if (target.ifExists === 'replace') {
      await queues.clearMessages(account, queue);
    } else if (!isUnfinished(status)) {
      target.done({ keptQueues: 1 });
      return;
    }
    const isResumed = target.ifExists === 'skip' && status !== undefined;
    for (const message of messages.slice(isResumed ? status.approximateMessageCount : 0)) {
      await queues.putMessage(account, queue, message);
      target.done({ messages: 1 });
    }
    await queues.setMetadata(account, queue, metadata);
  } catch (error) {
    throw seedErrorOf(error, path);
  }
}

async function statusOf({ queues, account, queue }: QueueTarget): Promise<QueueStatus | undefined> {
  try {
    return await queues.getQueue(account, queue);
  } catch (error) {
    if (error instanceof StorageError && error.code === 'QueueNotFound') return undefined;
    throw error;
  }
}

function isUnfinished({ metadata }: QueueStatus): boolean {
  const [name, value] = unfinished[0] ?? [];
  return metadata.some(([other, text]) => other === name && text === value);
}

function metadataOf({ metadata = {} }: SeedQueue): Metadata {
  return Object.entries(metadata);
}

function messageOf(message: string | SeedMessage): NewMessage {
  const {
    text,
    visibilitySeconds = 0,
    timeToLiveSeconds = timeToLiveSecondsDefault,
  } = typeof message === 'string' ? { text: message } : message;
  return {
    text,
    visibilitySeconds,
    timeToLiveSeconds: timeToLiveSeconds === -1 ? Infinity : timeToLiveSeconds,
  };
}
