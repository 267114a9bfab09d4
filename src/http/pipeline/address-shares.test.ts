import assert from 'node:assert/strict';
import { Socket } from 'node:net';
import { it } from 'node:test';
import { AddressShares, type AddressSharesOptions } from './address-shares.js';
import { ConnectionSlots, slotsWithin } from './connection-slots.js';

function from(remoteAddress: string): Socket {
  const socket = new Socket();
  Object.defineProperty(socket, 'remoteAddress', { value: remoteAddress });
  return socket;
}

function sharesOf(more: Partial<AddressSharesOptions> = {}): AddressShares {
  return new AddressShares({
    connectionsMax: 4,
    connectionsPerAddressMax: 100,
    isIdle: () => true,
    ...more,
  });
}

it('a full port takes the oldest idle connection of the address with most for another one', () => {
  const busy = from('10.0.0.1');
  const shares = sharesOf({ isIdle: (socket) => socket !== busy });
  const [idle, other, third] = [from('10.0.0.1'), from('10.0.0.2'), from('10.0.0.1')];
  for (const socket of [busy, idle, other, third]) assert.equal(shares.admit(socket), 'admitted');
  assert.equal(shares.admit(from('10.0.0.3')), 'admitted');
  assert.deepEqual(
    [busy, idle, other, third].map(({ destroyed }) => destroyed),
    [false, true, false, false],
  );
  // The address with the most connections has at most one more than the one that asks.
  assert.equal(shares.admit(from('10.0.0.2')), 'port-full');
  assert.equal(shares.admit(from('10.0.0.1')), 'port-full');
});

it('a full port closes no connection on which a request is under way', () => {
  const shares = sharesOf({ isIdle: () => false });
  for (let nth = 0; nth < 4; nth++) assert.equal(shares.admit(from('10.0.0.1')), 'admitted');
  assert.equal(shares.admit(from('10.0.0.2')), 'port-full');
});

it('an address has as many connections as its limit, and slots come back', async () => {
  const shares = sharesOf({ connectionsPerAddressMax: 2 });
  const [first, second] = [from('10.0.0.1'), from('::ffff:10.0.0.1')];
  assert.equal(shares.admit(first), 'admitted');
  assert.equal(shares.admit(second), 'admitted');
  assert.equal(shares.admit(from('10.0.0.1')), 'address-full');
  first.destroy();
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(shares.admit(from('10.0.0.1')), 'admitted');
});

it('addresses of one network of IPv6 count as one', () => {
  const shares = sharesOf({ connectionsPerAddressMax: 2 });
  assert.equal(shares.admit(from('2001:db8::1')), 'admitted');
  assert.equal(shares.admit(from('2001:db8:0:0:ff::2')), 'admitted');
  assert.equal(shares.admit(from('2001:db8::3')), 'address-full');
  assert.equal(shares.admit(from('2001:db8:0:1::3')), 'admitted');
  assert.equal(shares.admit(from('::1')), 'admitted');
});

it('ports share the connections that leave a process enough open files', () => {
  const slots = new ConnectionSlots(3);
  const busy = from('10.0.0.1');
  const one = sharesOf({ slots, isIdle: (socket) => socket !== busy });
  const other = sharesOf({ slots });
  const [idle, last] = [from('10.0.0.1'), from('10.0.0.1')];
  for (const socket of [busy, idle, last]) assert.equal(one.admit(socket), 'admitted');
  assert.equal(other.admit(from('10.0.0.2')), 'admitted', 'one of the other port makes room');
  assert.deepEqual(
    [busy, idle, last].map(({ destroyed }) => destroyed),
    [false, true, false],
  );
  assert.equal(one.admit(from('10.0.0.1')), 'process-full');
  assert.equal(other.admit(from('10.0.0.2')), 'process-full');
});

it('connections leave a process a file for each of them, and files of its own', () => {
  assert.deepEqual([65_536, 1_024, 64, Infinity].map(slotsWithin), [32_736, 480, 1, Infinity]);
});
