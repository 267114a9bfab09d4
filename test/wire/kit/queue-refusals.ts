import assert from 'node:assert/strict';
import { assertQueueError } from './errors.js';
import type { WireResponse } from './response.js';

// What the queue service says of a parameter that it refuses (queue-service §3.3).

/** Insists that a number of a parameter is refused with the range that it may have. */
export function assertOutOfRange(
  response: WireResponse,
  name: string,
  value: string | number,
  range: readonly [from: number, to: number],
): void {
  assertQueueError(response, {
    status: 400,
    code: 'OutOfRangeQueryParameterValue',
    details: [
      ['QueryParameterName', name],
      ['QueryParameterValue', String(value)],
      ['MinimumAllowed', String(range[0])],
      ['MaximumAllowed', String(range[1])],
    ],
  });
}

/** Insists that the value of a parameter is refused with a reason. */
export function assertInvalidParameter(
  response: WireResponse,
  name: string,
  value: string | number,
): void {
  const details = assertQueueError(response, { status: 400, code: 'InvalidQueryParameterValue' });
  const [, , reason, ...others] = details;
  assert.deepEqual(details.slice(0, 2), [
    ['QueryParameterName', name],
    ['QueryParameterValue', String(value)],
  ]);
  assert.equal(reason?.[0], 'Reason');
  assert.notEqual(reason?.[1], '');
  assert.deepEqual(others, []);
}

/** Insists that a request is refused that lacks a parameter. */
export function assertMissingParameter(response: WireResponse, name: string): void {
  const details = [['QueryParameterName', name]] as const;
  assertQueueError(response, { status: 400, code: 'MissingRequiredQueryParameter', details });
}

/** Insists on 413 with the bytes that there may be. */
export function assertTooLarge(response: WireResponse, limit: number): void {
  const details = [['MaxLimit', String(limit)]] as const;
  assertQueueError(response, { status: 413, code: 'RequestBodyTooLarge', details });
}
