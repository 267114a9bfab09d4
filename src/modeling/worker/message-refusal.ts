import { codeOf } from '../../base/thrown.js';
import { statusOf } from '../table/transient.js';

// Refusals of an update or a delete that concern one message, not the queue or the credential.
// Protocol: docs/protocol/queue-service.md, sections 8.4 and 8.7.

/** The message was deleted, expired or got by another consumer; the emulator answers 400 then. */
export function isGone(error: unknown): boolean {
  const status = statusOf(error);
  const code = codeOf(error);
  if (code === 'QueueNotFound') return false;
  return status === 404 || (status === 400 && code === 'PopReceiptMismatch');
}

/** An update would hide the message for longer than it lives. */
export function isBeyondExpiry(error: unknown): boolean {
  return statusOf(error) === 400 && codeOf(error) === 'InvalidQueryParameterValue';
}
