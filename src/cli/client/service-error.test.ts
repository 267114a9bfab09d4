import assert from 'node:assert/strict';
import { it } from 'node:test';
import { serviceErrorOf } from './service-error.js';

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
