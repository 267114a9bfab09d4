import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MemberHeads, type MemberHead } from './member-head.js';

function find(heads: MemberHeads, text: string, before?: MemberHead): MemberHead | undefined {
  return heads.at(Buffer.from(text), 0, before);
}

/** A member head is remembered at its second occurrence. */
function learn(heads: MemberHeads, text: string): MemberHead {
  find(heads, text);
  const head = find(heads, text);
  assert.ok(head !== undefined, text);
  return head;
}

describe('heads of members', () => {
  it('are unknown when they come the first time', () => {
    const heads = new MemberHeads(10);
    assert.equal(find(heads, '"a":1'), undefined);
    assert.equal(find(heads, '"a":1')?.nameBytes, 1);
  });

  it('of one name share it, whatever their annotation', () => {
    const heads = new MemberHeads(10);
    const bare = learn(heads, '"a":1');
    const annotated = learn(heads, '"a@odata.type":"Edm.Guid","a":""');
    assert.notEqual(annotated, bare);
    assert.equal(annotated.name, bare.name);
    assert.notEqual(learn(heads, '"b":1').name, bare.name);
  });

  it('of one annotation are told apart by its type', () => {
    const heads = new MemberHeads(10);
    const guid = learn(heads, '"a@odata.type":"Edm.Guid","a":""');
    const binary = learn(heads, '"a@odata.type":"Edm.Binary","a":""');
    assert.deepEqual([guid.type, binary.type], ['Edm.Guid', 'Edm.Binary']);
    assert.equal(find(heads, '"a@odata.type":"Edm.Guid","a":""'), guid);
  });

  it('are found behind another one than before', () => {
    const heads = new MemberHeads(10);
    const [a, b, c] = ['"a":1', '"b":1', '"c":1'].map((text) => learn(heads, text));
    assert.equal(find(heads, '"b":1', a), b);
    assert.equal(find(heads, '"c":1', a), c);
    assert.equal(find(heads, '"b":1', a), b);
  });

  it('are all forgotten when there are too many, and none is learned in that body', () => {
    const heads = new MemberHeads(2);
    const a = learn(heads, '"a":1');
    learn(heads, '"b":1');
    find(heads, '"c":1');
    // A body with a known `a` must not learn it again: its second `a` would have another name.
    assert.equal(find(heads, '"c":1', a), undefined);
    assert.equal(find(heads, '"c":1')?.nameBytes, 1);
    assert.notEqual(learn(heads, '"a":1'), a);
  });

  it('have names that are not too long', () => {
    const heads = new MemberHeads(10);
    assert.equal(learn(heads, `"${'a'.repeat(80)}":1`).nameBytes, 80);
    const long = `"${'a'.repeat(81)}":1`;
    assert.equal(find(heads, long) ?? find(heads, long), undefined);
  });
});
