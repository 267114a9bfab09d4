import assert from 'node:assert/strict';
import { assertQueueError } from './errors.js';
import type { WireResponse } from './response.js';

// Errors of the queue service for parameters (queue-service §3.3).

/** Checks that a number is refused with its valid range. */
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

/** Checks that the value of a parameter is refused for a reason. */
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

/** Checks that a request without the parameter is refused. */
export function assertMissingParameter(response: WireResponse, name: string): void {
  const details = [['QueryParameterName', name]] as const;
  assertQueueError(response, { status: 400, code: 'MissingRequiredQueryParameter', details });
}

/** Checks for 413 with the maximum number of bytes. */
export function assertTooLarge(response: WireResponse, limit: number): void {
  const details = [['MaxLimit', String(limit)]] as const;
  assertQueueError(response, { status: 413, code: 'RequestBodyTooLarge', details });
}
