import assert from 'node:assert/strict';
import { it } from 'node:test';
import { selfTimes } from './profile.js';

it('adds up self time by function, most first, without idle time', () => {
  const frame = (id: number, functionName: string, url = ''): Parameters<typeof node>[0] => ({
    id,
    functionName,
    url,
  });
  const node = ({ id, functionName, url }: { id: number; functionName: string; url: string }) => ({
    id,
    callFrame: { functionName, url, lineNumber: url === '' ? -1 : 9 },
  });
  const profile = {
    nodes: [
      node(frame(1, '(idle)')),
      node(frame(2, 'read', 'file:///app/dist/a.js')),
      node(frame(3, '', 'file:///app/dist/b.js')),
      node(frame(4, 'read', 'file:///app/dist/a.js')),
    ],
    samples: [1, 2, 3, 4, 1],
    timeDeltas: [500, 10, 30, 40, 500],
  };
  assert.deepEqual(selfTimes(profile, '/app/'), [
    { name: 'read dist/a.js:10', micros: 50 },
    { name: '(anonymous) dist/b.js:10', micros: 30 },
  ]);
});
