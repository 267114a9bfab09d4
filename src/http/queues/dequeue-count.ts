import type { RenderedMessage } from '../../wire/xml/queue-messages.js';
import { messageVersions } from './versions.js';

/**
 * Messages as a version shows them: the first versions had no dequeue counts (queue-service §2).
 */
export function countedMessages(
  messages: readonly RenderedMessage[],
  version: string,
): readonly RenderedMessage[] {
  if (version >= messageVersions.dequeueCount) return messages;
  return messages.map((message) => ({ ...message, dequeueCount: undefined }));
}
