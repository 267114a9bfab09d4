import assert from 'node:assert/strict';
import { RestError } from '@azure/storage-queue';

interface HasResponse {
  readonly _response: { readonly status: number };
}

/** The HTTP status of a response of the official storage clients. */
export function statusOf({ _response: { status } }: HasResponse): number {
  return status;
}

/** Returns the error of a call that must fail, as the client throws it. */
export async function failureOf(work: Promise<unknown>): Promise<RestError> {
  try {
    await work;
  } catch (error) {
    assert.ok(error instanceof RestError, `expected a RestError, got ${String(error)}`);
    return error;
  }
  return assert.fail('expected a failure');
}

/** Returns the status and code of a call that must fail. */
export async function answerOf(work: Promise<unknown>): Promise<string> {
  const { statusCode, code } = await failureOf(work);
  return `${statusCode} ${code}`;
}
