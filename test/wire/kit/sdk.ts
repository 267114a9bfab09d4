import assert from 'node:assert/strict';
import { RestError } from '@azure/storage-queue';

interface HasResponse {
  readonly _response: { readonly status: number };
}

/** The HTTP status of what the official storage clients answer. */
export function statusOf({ _response: { status } }: HasResponse): number {
  return status;
}

/** Runs what must fail, and returns the error as the client shows it. */
export async function failureOf(work: Promise<unknown>): Promise<RestError> {
  try {
    await work;
  } catch (error) {
    assert.ok(error instanceof RestError, `expected a RestError, got ${String(error)}`);
    return error;
  }
  return assert.fail('expected a failure');
}

/** Runs what must fail, and returns status and code. */
export async function answerOf(work: Promise<unknown>): Promise<string> {
  const { statusCode, code } = await failureOf(work);
  return `${statusCode} ${code}`;
}
