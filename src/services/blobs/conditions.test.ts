import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { BlobConditions } from '../../model/blobs/conditions.js';
import type { TagExpression } from '../../model/blobs/tag-expression.js';
import { StorageError } from '../../model/errors/storage-error.js';
import { checkReadConditions, checkWriteConditions, type ConditionUse } from './conditions.js';

const seconds = 1_700_000_000;
const blob = { modifiedMicros: seconds * 1_000_000 + 999_999, tags: [['k', 'v'] as const] };
const own = blob.modifiedMicros;
const isV: TagExpression = { kind: 'comparison', tag: 'k', operator: '=', value: 'v' };
const isW: TagExpression = { ...isV, value: 'w' };

/** Each header absent, one that passes, one that fails. */
const choices = {
  ifMatch: [undefined, [own], [own + 1]],
  ifNoneMatch: [undefined, [own + 1], [own]],
  ifModifiedSinceSeconds: [undefined, seconds - 1, seconds],
  ifUnmodifiedSinceSeconds: [undefined, seconds, seconds - 1],
  ifTags: [undefined, isV, isW],
} as const;

/** Every combination of headers, each with what it consists of. */
function* combinations() {
  const count = 3 ** 5;
  for (let index = 0; index < count; index += 1) {
    const digit = (place: number): number => Math.floor(index / 3 ** place) % 3;
    const [m = 0, n = 0, s = 0, u = 0, t = 0] = [0, 1, 2, 3, 4].map(digit);
    const members = Object.entries({
      ifMatch: choices.ifMatch[m],
      ifNoneMatch: choices.ifNoneMatch[n],
      ifModifiedSinceSeconds: choices.ifModifiedSinceSeconds[s],
      ifUnmodifiedSinceSeconds: choices.ifUnmodifiedSinceSeconds[u],
      ifTags: choices.ifTags[t],
    }).filter(([, value]) => value !== undefined);
    yield { m, n, s, u, t, conditions: Object.fromEntries(members) as BlobConditions };
  }
}

function answer(run: () => void): string {
  try {
    run();
    return 'met';
  } catch (error) {
    assert.ok(error instanceof StorageError);
    return `${error.status} ${error.code}`;
  }
}

const write = (conditions: BlobConditions, use: ConditionUse = 'change', target = true): string =>
  answer(() => checkWriteConditions(conditions, target ? blob : undefined, use));

describe('conditions of a read', () => {
  it('hold as the table says, in all 243 combinations', () => {
    let count = 0;
    for (const { m, n, s, u, t, conditions } of combinations()) {
      count += 1;
      // blob-service §9.2: what fails with 412 goes first, then one of N and S must pass.
      const isOld = (n === 2 && s !== 1) || (s === 2 && n !== 1);
      const wanted =
        m === 2 || u === 2 || t === 2
          ? '412 ConditionNotMet'
          : isOld
            ? '304 ConditionNotMet'
            : 'met';
      const found = answer(() => checkReadConditions(conditions, blob));
      assert.equal(found, wanted, JSON.stringify(conditions));
    }
    assert.equal(count, 243);
  });

  it('take lists of etags: any of those that match, none of those that do not', () => {
    const read = (conditions: BlobConditions) =>
      answer(() => checkReadConditions(conditions, blob));
    assert.equal(read({ ifMatch: [1, own] }), 'met');
    assert.equal(read({ ifNoneMatch: [1, own] }), '304 ConditionNotMet');
    assert.equal(read({ ifMatch: 'any' }), 'met');
    assert.equal(read({ ifMatch: [-1] }), '412 ConditionNotMet');
  });

  it('that demand that there is nothing to read find it unchanged', () => {
    const found = answer(() => checkReadConditions({ ifNoneMatch: 'any' }, blob));
    assert.equal(found, '304 ConditionNotMet');
  });
});

describe('conditions of a write', () => {
  it('hold as the rules say, in all 243 combinations', () => {
    for (const { m, n, s, u, t, conditions } of combinations()) {
      // The etag of a pair decides.
      const decisive = [m === 0 ? u : m, n === 0 ? s : n, t];
      const wanted = decisive.includes(2) ? '412 ConditionNotMet' : 'met';
      assert.equal(write(conditions), wanted, JSON.stringify(conditions));
    }
  });

  it('name the conflict when a blob is not to be there and is', () => {
    assert.equal(write({ ifNoneMatch: 'any' }, 'create'), '409 BlobAlreadyExists');
    assert.equal(write({ ifNoneMatch: 'any' }, 'change'), '412 ConditionNotMet');
    assert.equal(write({ ifNoneMatch: 'any' }, 'create', false), 'met');
  });

  it('of a missing blob hold, unless it was to match', () => {
    for (const ifMatch of ['any', [own]] as const) {
      assert.equal(write({ ifMatch }, 'create', false), '412 ConditionNotMet');
    }
    for (const conditions of [
      { ifNoneMatch: [own] },
      { ifModifiedSinceSeconds: seconds },
      { ifUnmodifiedSinceSeconds: 1 },
      { ifTags: isW },
    ]) {
      assert.equal(write(conditions, 'create', false), 'met');
    }
  });

  it('of a source have a code of their own', () => {
    assert.equal(write({ ifMatch: [1] }, 'source'), '412 SourceConditionNotMet');
  });
});
