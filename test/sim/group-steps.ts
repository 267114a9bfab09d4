import assert from 'node:assert/strict';
import {
  assertMalformedBatch,
  changesetBody,
  changesetError,
  changesetParts,
  type Operation,
  type Part,
} from '../wire/kit/batch.js';
import type { WireResponse } from '../wire/kit/response.js';
import { parseExact } from './exact-json.js';
import { anyTarget, anyWrite, writeRefusal, writeRequest } from './entity-steps.js';
import { syntaxRefusal, refusal, type ModelTable, type Refusal, type SimWrite } from './model.js';
import { assertEntity, assertRefused, partitionKeys, rowKeys, type World } from './world.js';

const bodyBytesMax = 4 * 1024 * 1024;

interface Failure extends Refusal {
  readonly index: number;
}

/** One entity group transaction: valid, failing at some operation, or malformed. */
export async function runGroup(world: World): Promise<void> {
  const { random } = world;
  const { name, table } = anyTarget(world);
  if (table === undefined || random.chance(0.02)) return emptyOrTableless(world, name, table);
  const writes = anyWrites(world, table);
  breakOneRule(world, table, writes);
  const failure = firstFailure(writes, table);
  const requests = writes.map((write) => writeRequest(world, name, write));
  const response = await send(world, requests);
  if (bodyOf(world, requests).length > bodyBytesMax) {
    return assertRefused(response, refusal(413, 'RequestBodyTooLarge'));
  }
  if (failure !== undefined) {
    const { status, code, message } = changesetError(response);
    assert.deepEqual({ status, code }, { status: failure.status, code: failure.code });
    const isNumbered = failure.isValidation || writes.length > 1;
    assert.equal(/^\d+:/.exec(message)?.[0], isNumbered ? `${failure.index}:` : undefined);
    return;
  }
  acceptParts(world, table, writes, changesetParts(response), requests);
}

function anyWrites(world: World, table: ModelTable): SimWrite[] {
  const { random } = world;
  const [partitionKey] = world.keysIn(table, 0.5);
  const most = random.weighted({ few: 20, many: 4, all: 1 });
  const count = { few: random.between(1, 6), many: random.between(7, 40), all: 100 }[most];
  const taken = new Set<string>();
  const present = table
    .values()
    .filter((entity) => entity.partitionKey === partitionKey)
    .map(({ rowKey }) => rowKey);
  return Array.from({ length: count }, (_, index) => {
    let rowKey =
      random.chance(0.5) && present.length > 0 ? random.pick(present) : random.pick(rowKeys);
    if (taken.has(rowKey)) rowKey = `g${index}-${random.int(200)}`;
    taken.add(rowKey);
    return likely(world, table, anyWrite(world, table, [partitionKey, rowKey]));
  });
}

/** Mostly replaces a write that would fail, so that large groups can succeed. */
function likely(world: World, table: ModelTable, write: SimWrite): SimWrite {
  const { random } = world;
  if (random.chance(0.03) || writeRefusal(write, table) === undefined) return write;
  return { ...write, kind: 'merge', condition: { kind: 'absent' }, properties: world.properties() };
}

/** Sometimes breaks one rule of groups; only one, so that the response is unambiguous. */
function breakOneRule(world: World, table: ModelTable, writes: SimWrite[]): void {
  const { random } = world;
  const index = random.int(writes.length);
  const victim = writes[index];
  if (victim === undefined || writes.some((write) => writeRefusal(write, table) !== undefined))
    return;
  switch (random.weighted({ none: 30, duplicate: 2, partition: 2, tooMany: 1 })) {
    case 'none':
      return;
    case 'duplicate':
      writes.splice(random.between(index + 1, writes.length), 0, victim);
      writes.splice(100);
      return;
    case 'partition': {
      const others = partitionKeys.filter((key) => key !== victim.partitionKey);
      if (index > 0) {
        const partitionKey = random.pick(others);
        writes[index] = {
          ...anyWrite(world, table, [partitionKey, victim.rowKey]),
          kind: 'merge',
          condition: { kind: 'absent' },
        };
      }
      return;
    }
    case 'tooMany':
      while (writes.length <= 100) {
        writes.push({
          ...victim,
          kind: 'merge',
          condition: { kind: 'absent' },
          rowKey: `more-${writes.length}`,
        });
      }
  }
}

/**
 * The operation that the response must name: errors of the front end come first (table-service
 * §9.5).
 */
function firstFailure(writes: readonly SimWrite[], table: ModelTable): Failure | undefined {
  if (writes.length > 100) return { ...refusal(400, 'InvalidInput', true), index: 99 };
  const seen = new Set<string>();
  const first = writes[0];
  for (const [index, write] of writes.entries()) {
    const inSyntax = syntaxRefusal(write);
    if (inSyntax !== undefined) return { ...inSyntax, index };
    if (write.partitionKey !== first?.partitionKey) {
      return { ...refusal(400, 'CommandsInBatchActOnDifferentPartitions', true), index };
    }
    if (seen.has(write.rowKey)) return { ...refusal(400, 'InvalidDuplicateRow', true), index };
    seen.add(write.rowKey);
  }
  for (const [index, write] of writes.entries()) {
    const refused = table.refusalOf(write);
    if (refused !== undefined) return { ...refused, index };
  }
  return undefined;
}

function acceptParts(
  world: World,
  table: ModelTable,
  writes: readonly SimWrite[],
  parts: readonly Part[],
  requests: readonly Operation[],
): void {
  assert.equal(parts.length, writes.length);
  let isFirst = true;
  for (const [index, write] of writes.entries()) {
    const part = parts[index];
    assert.ok(part);
    const etag = /^ETag: (.*)\r$/m.exec(part.head)?.[1];
    world.rememberOld(table.get(write.partitionKey, write.rowKey)?.etag);
    const isQuiet = requests[index]?.headers?.['Prefer'] !== undefined;
    assert.equal(part.status, write.kind === 'insert' && !isQuiet ? 201 : 204, `part ${index}`);
    if (write.kind === 'delete') {
      assert.equal(etag, undefined);
    } else {
      world.noteEtag(etag ?? '', isFirst);
      isFirst = false;
    }
    table.apply(write, etag);
    const entity = table.get(write.partitionKey, write.rowKey);
    if (part.status === 201 && entity !== undefined) {
      assertEntity(parseExact(part.body.trim()), entity);
    }
  }
}

async function emptyOrTableless(
  world: World,
  name: string,
  table: ModelTable | undefined,
): Promise<void> {
  if (table !== undefined) {
    assertMalformedBatch(await send(world, []));
    return;
  }
  const write = { ...anyWrite(world, undefined), condition: { kind: 'any' } } as const;
  const { status, code, message } = changesetError(
    await send(world, [writeRequest(world, name, write)]),
  );
  assert.deepEqual({ status, code }, { status: 404, code: 'TableNotFound' });
  assert.match(message, /^0:/);
}

function send(world: World, requests: readonly Operation[]): Promise<WireResponse> {
  const body = bodyOf(world, requests);
  const boundary = body.toString('latin1', 2, body.indexOf('\r\n'));
  return world.send({
    method: 'POST',
    path: '/$batch',
    body,
    headers: { 'Content-Type': `multipart/mixed; boundary=${boundary}` },
  });
}

function bodyOf({ client }: World, requests: readonly Operation[]): Buffer {
  return Buffer.from(changesetBody(client.base, requests.map(withAccept)));
}

function withAccept(request: Operation): Operation {
  const headers = { ...request.headers, Accept: 'application/json;odata=minimalmetadata' };
  return { ...request, headers };
}
