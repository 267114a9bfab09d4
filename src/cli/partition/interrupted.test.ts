import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  comparisonGoesOn,
  copyGoesOn,
  halvingGoesOn,
  operationsGoOn,
  undoingGoesOn,
} from './interrupted.js';

const inServer = { doesWork: false };
const here = { doesWork: true };

void describe('what a command says that is interrupted', () => {
  void it('tells that a server goes on, where to look, and how to undo it', () => {
    assert.equal(
      operationsGoOn([7], { ...inServer, kind: 'move' }),
      'Operation 7 goes on in the server. See tabularium partition list. To undo a move: tabularium ' +
        'partition cancel 7.',
    );
    assert.equal(
      operationsGoOn([7, 10], inServer),
      'Operations 7, 10 go on in the server. See tabularium partition list. To undo a move: ' +
        'tabularium partition cancel NUMBER.',
    );
    assert.doesNotMatch(operationsGoOn([7], { ...inServer, kind: 'split' }), /cancel/);
  });

  void it('tells who goes on with work of its own process', () => {
    assert.equal(
      operationsGoOn([7], { ...here, kind: 'merge' }),
      'Operation 7 stops with this process. A server of these stores goes on with it in about ten ' +
        'seconds, or when it starts. See tabularium partition list.',
    );
    assert.match(operationsGoOn([7, 10], here), /^Operations 7, 10 stop .* goes on with them/);
  });

  void it('tells what becomes of a copy', () => {
    const copy = { range: 5, directory: '/backup', operation: 7 };
    assert.equal(
      copyGoesOn(inServer, { ...copy, kind: 'restore' }),
      'The restore, operation 7, goes on in the server. See tabularium partition list. To end it: ' +
        'tabularium partition cancel 7.',
    );
    assert.match(
      copyGoesOn(here, { ...copy, kind: 'backup' }),
      /^The backup, operation 7, ends .* \/backup has no backup: delete it\. .* cancel 7\.$/,
    );
    assert.match(
      copyGoesOn(here, { ...copy, kind: 'restore' }),
      /ends with this process\. A server .* deletes what was restored, and serves range 5 again/,
    );
    const unknown = { ...copy, operation: undefined, kind: 'backup' } as const;
    assert.match(copyGoesOn(inServer, unknown), /^The backup goes on .* cancel NUMBER\.$/);
  });

  void it('tells whether something is changed without it', () => {
    assert.match(halvingGoesOn(5, inServer), /goes on measuring range 5, and splits it then/);
    assert.match(halvingGoesOn(5, here), /was measured only, unless/);
    assert.match(undoingGoesOn(7, inServer), /^The server goes on undoing operation 7/);
    assert.match(undoingGoesOn(7, here), /A server of these stores goes on undoing operation 7/);
    assert.match(comparisonGoesOn(inServer, {}), /changes nothing/);
    assert.match(comparisonGoesOn(inServer, { repair: true }), /repairs what it finds/);
    assert.match(comparisonGoesOn(here, {}), /the same command goes on where it was/);
    assert.match(comparisonGoesOn(here, { range: 5 }), /nothing was changed/);
  });
});
