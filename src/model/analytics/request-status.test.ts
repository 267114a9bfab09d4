import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  callerKinds,
  countsInAvailability,
  isBillable,
  outcomeOf,
  requestOutcomes,
  type RequestEnd,
} from './request-status.js';

const end = (status: number, more: Partial<RequestEnd> = {}) =>
  outcomeOf({ status, errorCode: undefined, aborted: false, hasOwnTimeout: false, ...more });

describe('the outcome of a request (blob-service §21.5)', () => {
  it('follows the status', () => {
    for (const status of [200, 204, 206]) assert.equal(end(status), 'Success');
    for (const status of [304, 400, 404, 409, 412, 413]) {
      assert.equal(end(status), 'ClientOtherError');
    }
    assert.deepEqual(
      [401, 403].map((status) => end(status)),
      ['AuthorizationError', 'AuthorizationError'],
    );
    assert.deepEqual(
      [500, 501, 503].map((status) => end(status)),
      ['ServerOtherError', 'ServerOtherError', 'ThrottlingError'],
    );
  });

  it('tells whose time limit has passed', () => {
    const errorCode = 'OperationTimedOut';
    assert.equal(end(500, { errorCode }), 'ServerTimeoutError');
    assert.equal(end(500, { errorCode, hasOwnTimeout: true }), 'ClientTimeoutError');
    assert.equal(end(500, { hasOwnTimeout: true }), 'ServerOtherError');
  });

  it('is an error of the network when the client left, whatever was answered', () => {
    assert.equal(end(0), 'NetworkError');
    assert.equal(end(200, { aborted: true }), 'NetworkError');
  });

  it('is billable, and counts in the availability, by the table', () => {
    const named = (test: typeof isBillable) =>
      requestOutcomes.flatMap((outcome) =>
        callerKinds.filter((caller) => test(outcome, caller)).map((caller) => [outcome, caller]),
      );
    const all = (outcome: string) => callerKinds.map((caller) => [outcome, caller]);
    const known = (outcome: string) => [
      [outcome, 'owner'],
      [outcome, 'sas'],
    ];
    assert.deepEqual(named(isBillable), [
      ...all('Success'),
      ...all('ClientTimeoutError'),
      ...all('ClientOtherError'),
      ...known('AuthorizationError'),
      ...all('NetworkError'),
    ]);
    assert.deepEqual(named(countsInAvailability), [
      ...all('Success'),
      ...all('ClientTimeoutError'),
      ...all('ServerTimeoutError'),
      ...all('ClientOtherError'),
      ...all('ServerOtherError'),
      ...known('AuthorizationError'),
      ...all('NetworkError'),
    ]);
  });
});
