import assert from 'node:assert/strict';
import { it } from 'node:test';
import { decodeTuple, encodeTuple } from '../../kv/tuple.js';
import { encodeFrame } from './frame.js';
import type { Change } from './frame-change.js';
import { lastChanges, withChanges } from './left-changes.js';

const keyOf = (text: string) => encodeTuple([text]);
const textOf = (value: Uint8Array | undefined) => Buffer.from(value ?? []).toString();

function frame(sequence: number, texts: Readonly<Record<string, string | undefined>>) {
  const changes = Object.entries(texts).map(([key, text]): Change => ({
    key: keyOf(key),
    value: text === undefined ? undefined : Buffer.from(text),
    version: sequence,
  }));
  const written = { kind: 'changes', sequence, lastVersion: sequence, changes } as const;
  const { bytes, changes: found } = encodeFrame(written, 0);
  return { ...written, changes: found, bytes: bytes.length };
}

void it('puts the last change of each key over the entries of a base, in order', () => {
  const pages = [['b', 'c'], [], ['e', 'f']].map((page) =>
    page.map((key) => ({ key: keyOf(key), value: Buffer.from('base'), version: 1 })),
  );
  const frames = [
    frame(2, { f: 'first', e: undefined, a: 'new' }),
    frame(3, { f: 'last', g: 'new', d: undefined, h: undefined, c: 'changed' }),
  ];
  const entries = [...withChanges(pages, lastChanges(frames))].flat();
  assert.deepEqual(
    entries.map(
      ({ key, value, version }) => `${decodeTuple(key).join()} ${textOf(value)} ${version}`,
    ),
    ['a new 2', 'b base 1', 'c changed 3', 'f last 3', 'g new 3'],
  );
  assert.deepEqual([...withChanges(pages, [])].flat(), pages.flat());
});
