import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type BusMessage, busPin, type BusPin, busTransactionPin } from './service-bus.js';

const partitioned = { isPartitioned: true, detectsDuplicates: false };
const deduplicated = { isPartitioned: true, detectsDuplicates: true };
const single = { isPartitioned: false, detectsDuplicates: true };

function shown(pin: BusPin): string {
  switch (pin.kind) {
    case 'pinned':
      return `${pin.by} ${pin.key}`;
    case 'refused':
      return pin.reason;
    default:
      return pin.kind;
  }
}

describe('Service Bus', () => {
  it('pins by session, then by partition key, then by message id', () => {
    const message: BusMessage = { sessionId: 's', partitionKey: 's', messageId: 'm' };
    assert.equal(shown(busPin(message, partitioned)), 'sessionId s');
    assert.equal(
      shown(busPin({ ...message, sessionId: undefined }, partitioned)),
      'partitionKey s',
    );
    assert.equal(shown(busPin({ messageId: 'm' }, deduplicated)), 'messageId m');
    assert.equal(shown(busPin({ messageId: 'm' }, partitioned)), 'free');
    assert.equal(shown(busPin({}, partitioned)), 'free');
    assert.equal(shown(busPin(message, single)), 'unpartitioned');
  });

  it('refuses a session beside another partition key, and lookalikes without an id', () => {
    const message = { sessionId: 's', partitionKey: 'p' };
    assert.equal(shown(busPin(message, partitioned)), 'conflicting-keys');
    assert.equal(shown(busPin(message, single)), 'conflicting-keys');
    assert.equal(shown(busPin({}, deduplicated)), 'bad-key');
  });

  it('lets a transaction have one key and one session', () => {
    const pin = (messages: readonly BusMessage[], entity = partitioned): string =>
      shown(busTransactionPin(messages, entity));
    assert.equal(pin([{ partitionKey: 'p' }, { partitionKey: 'p' }]), 'partitionKey p');
    assert.equal(pin([{ partitionKey: 'p' }, { sessionId: 'p' }]), 'partitionKey p');
    assert.equal(pin([{ partitionKey: 'p' }, { partitionKey: 'q' }]), 'different-places');
    assert.equal(pin([{ partitionKey: 'p' }, {}]), 'bad-key');
    assert.equal(pin([{ sessionId: 's' }, { sessionId: 't' }], single), 'different-places');
    assert.equal(pin([{}, {}], single), 'unpartitioned');
    assert.equal(pin([]), 'bad-count');
    assert.equal(
      pin([{ partitionKey: 'p' }, { sessionId: 's', partitionKey: 'p' }]),
      'conflicting-keys',
    );
  });
});
