import assert from 'node:assert/strict';
import { it } from 'node:test';
import { ConnectionError, serviceErrorOf, withDoubt } from './service-error.js';

void it('shows the status of an answer once, with a code or without', () => {
  const coded = serviceErrorOf(
    404,
    '{"odata.error":{"code":"TableNotFound","message":{"value":"No."}}}',
  );
  assert.deepEqual([coded.code, coded.status, coded.message], ['TableNotFound', 404, 'No.']);
  const bare = serviceErrorOf(400, 'This port speaks https.');
  assert.doesNotMatch(bare.code, /400/);
  assert.deepEqual([bare.status, bare.message], [400, 'This port speaks https.']);
});

void it('is in doubt about a request whose connection broke, and not about one that had none', () => {
  const timedOut = (syscall: string): Error =>
    Object.assign(new Error(`${syscall} ETIMEDOUT`), { code: 'ETIMEDOUT', syscall });
  const several = new AggregateError([timedOut('connect'), timedOut('connect')]);
  const mixed = new AggregateError([timedOut('connect'), timedOut('read')]);
  const causes = [timedOut('connect'), several, timedOut('read'), mixed, undefined];
  const inDoubt = causes.map((cause) => {
    const told = withDoubt(new ConnectionError('It failed', { cause }), 'Look.');
    return told instanceof Error && told.message === 'It failed. Look.';
  });
  assert.deepEqual(inDoubt, [false, false, true, true, true]);
});
