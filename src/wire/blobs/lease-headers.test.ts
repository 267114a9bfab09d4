import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { leaseIdOf, readLeaseAction } from './lease-headers.js';

const id = 'f81d4fae-7dec-11d0-a765-00a0c91e6bf6';
const other = '00000000-0000-0000-0000-00000000000a';
const lookup = (headers: Readonly<Record<string, string>>) => (name: string) => headers[name];

describe('the id of a lease', () => {
  it('is read in every form of a GUID, and written in one', () => {
    for (const form of [
      id,
      id.toUpperCase(),
      id.replaceAll('-', ''),
      `{${id}}`,
      `(${id})`,
      `{${id.toUpperCase()}}`,
    ]) {
      assert.equal(leaseIdOf(lookup({ 'x-ms-lease-id': form })), id, form);
    }
    assert.equal(leaseIdOf(lookup({})), undefined);
  });

  it('is nothing else', () => {
    for (const form of [
      '',
      'x',
      id.slice(1),
      `${id}0`,
      `{${id}`,
      `{${id})`,
      `{${id.replaceAll('-', '')}}`,
      id.replace('-', ''),
      ` ${id}`,
    ]) {
      const read = () => leaseIdOf(lookup({ 'x-ms-lease-id': form }));
      assert.throws(read, { code: 'InvalidHeaderValue' }, form);
    }
  });
});

describe('what a request does to a lease', () => {
  const read = (headers: Readonly<Record<string, string>>) => {
    const entries = Object.entries(headers).map(([name, value]) => [`x-ms-${name}`, value]);
    return readLeaseAction(lookup(Object.fromEntries(entries) as Record<string, string>));
  };

  it('is one of five actions', () => {
    for (const [headers, action] of [
      [
        { 'lease-action': 'acquire', 'lease-duration': '-1' },
        { kind: 'acquire', duration: 'infinite' },
      ],
      [
        { 'lease-action': 'Acquire', 'lease-duration': '15', 'proposed-lease-id': id },
        { kind: 'acquire', duration: { seconds: 15 }, proposedId: id },
      ],
      [
        { 'lease-action': 'renew', 'lease-id': id },
        { kind: 'renew', id },
      ],
      [
        { 'lease-action': 'release', 'lease-id': id },
        { kind: 'release', id },
      ],
      [
        { 'lease-action': 'change', 'lease-id': id, 'proposed-lease-id': other },
        { kind: 'change', id, proposedId: other },
      ],
      [{ 'lease-action': 'break' }, { kind: 'break' }],
      [
        { 'lease-action': 'break', 'lease-break-period': '0' },
        { kind: 'break', periodSeconds: 0 },
      ],
      [
        { 'lease-action': 'break', 'lease-break-period': '60' },
        { kind: 'break', periodSeconds: 60 },
      ],
    ] as const) {
      assert.deepEqual(read(headers), action);
    }
  });

  it('needs its headers, in their ranges', () => {
    for (const [headers, code] of [
      [{}, 'MissingRequiredHeader'],
      [{ 'lease-action': 'steal' }, 'InvalidHeaderValue'],
      [{ 'lease-action': 'acquire' }, 'MissingRequiredHeader'],
      [{ 'lease-action': 'acquire', 'lease-duration': '14' }, 'InvalidHeaderValue'],
      [{ 'lease-action': 'acquire', 'lease-duration': '61' }, 'InvalidHeaderValue'],
      [{ 'lease-action': 'acquire', 'lease-duration': '-2' }, 'InvalidHeaderValue'],
      [{ 'lease-action': 'acquire', 'lease-duration': '1e1' }, 'InvalidHeaderValue'],
      [
        { 'lease-action': 'acquire', 'lease-duration': '15', 'proposed-lease-id': 'x' },
        'InvalidHeaderValue',
      ],
      [{ 'lease-action': 'renew' }, 'MissingRequiredHeader'],
      [{ 'lease-action': 'release', 'lease-id': 'x' }, 'InvalidHeaderValue'],
      [{ 'lease-action': 'change', 'lease-id': id }, 'MissingRequiredHeader'],
      [{ 'lease-action': 'break', 'lease-break-period': '61' }, 'InvalidHeaderValue'],
      [{ 'lease-action': 'break', 'lease-break-period': '-1' }, 'InvalidHeaderValue'],
    ] as const) {
      assert.throws(() => read(headers), { code }, JSON.stringify(headers));
    }
  });
});
