import type { SimRandom } from '../support/sim-random.js';
import { entityPath, type WireClient } from '../wire/kit/client.js';
import { changesetBody, changesetParts, type Operation } from '../wire/kit/batch.js';
import type { WireResponse } from '../wire/kit/response.js';
import type { Changes, Ledger, Row, RowId } from './ledger.js';
import { afterTrouble, throwFailure, type Troubles } from './unanswered.js';

export const mainTable = 'crash';
const rowsOfWorker = 150;
const contendedRow = { partitionKey: 'hot', rowKey: 'spot' };

export interface Load {
  readonly ledger: Ledger;
  readonly random: SimRandom;
  /** When set, the load ends after the requests in progress. */
  isOver: boolean;
  /** Responses that a correct server does not give. */
  readonly surprises: string[];
  /** `killed` by default. */
  readonly troubles?: Troubles;
}

export async function createMainTable(client: WireClient, ledger: Ledger): Promise<void> {
  ledger.issueTable(mainTable);
  const body = JSON.stringify({ TableName: mainTable });
  const { status, text } = await client.send({ method: 'POST', path: '/Tables', body });
  if (status !== 201) throw new Error(text);
  ledger.acknowledgeTable(mainTable, true);
}

/** Runs the load on these connections and closes them; resolves when it has ended. */
export async function runLoad(load: Load, clients: readonly WireClient[]): Promise<void> {
  await Promise.all(clients.map((client, worker) => work(load, worker, client)));
  for (const client of clients) client.close();
}

/**
 * Writes on one connection until the load is over or, by default, the server is gone. After a
 * request with an unknown outcome the worker uses other rows.
 */
async function work(load: Load, worker: number, client: WireClient): Promise<void> {
  let own = String(worker);
  for (let lives = 1; !load.isOver;) {
    const kind = load.random.weighted({ single: 10, group: 3, contended: 2, table: 1 });
    try {
      if (kind === 'single') await writeOne(load, `w${own}`, client);
      else if (kind === 'group') await writeGroup(load, `w${own}`, client);
      else if (kind === 'contended') await writeContended(load, client);
      else await cycleTable(load, own, client);
    } catch (error) {
      if ((await afterTrouble(error, load)) === 'end') return;
      own = `${worker}x${lives}`;
      lives += 1;
    }
  }
}

interface Planned {
  readonly id: RowId;
  readonly row: Row | undefined;
  readonly operation: Operation;
}

function idOf(partition: string, rowKey: string): RowId {
  return `${mainTable}|${partition}|${rowKey}`;
}

/** A write, of a row that only this worker writes, that succeeds on a correct server. */
function plan({ ledger, random }: Load, partition: string, rowKey: string): Planned {
  const id = idOf(partition, rowKey);
  const stored = ledger.get(id);
  const path = entityPath(mainTable, partition, rowKey);
  const row = { serial: ledger.nextSerial(), pad: padOf(random) };
  const whole = JSON.stringify({ PartitionKey: partition, RowKey: rowKey, ...row });
  const json = { 'Content-Type': 'application/json', Accept: 'application/json' };
  const quiet = { ...json, Prefer: 'return-no-content' };
  const kind = random.weighted({ replace: 3, merge: 3, conditional: 3, delete: 2 });
  if (stored === undefined) {
    return random.chance(0.5)
      ? {
          id,
          row,
          operation: { method: 'POST', path: `/${mainTable}`, headers: quiet, body: whole },
        }
      : { id, row, operation: { method: 'PUT', path, headers: json, body: whole } };
  }
  switch (kind) {
    case 'replace':
      return { id, row, operation: { method: 'PUT', path, headers: json, body: whole } };
    case 'merge': {
      const body = JSON.stringify({ serial: row.serial });
      const merged = { ...stored.row, serial: row.serial };
      return { id, row: merged, operation: { method: 'MERGE', path, headers: json, body } };
    }
    case 'delete': {
      const headers = { 'If-Match': random.chance(0.5) ? '*' : stored.etag };
      return {
        id,
        row: undefined,
        operation: { method: 'DELETE', path, headers: { ...headers, ...json } },
      };
    }
    default: {
      const headers = { ...json, 'If-Match': stored.etag };
      return { id, row, operation: { method: 'PUT', path, headers, body: whole } };
    }
  }
}

function padOf(random: SimRandom): string {
  const size = random.weighted({ none: 10, small: 20, medium: 8, large: 1 });
  const length = { none: 0, small: random.int(100), medium: random.int(4000), large: 30_000 }[size];
  return random.pick(['x', '-', '0']).repeat(length);
}

async function writeOne(load: Load, partition: string, client: WireClient): Promise<void> {
  const rowKey = `r${load.random.int(rowsOfWorker)}`;
  const { id, row, operation } = plan(load, partition, rowKey);
  const changes: Changes = new Map([[id, row]]);
  load.ledger.issue(changes);
  const response = await client.send(operation);
  if (isRefused(load, response, 204)) return load.ledger.refuse(changes);
  load.ledger.acknowledge(changes, () => response.header('ETag') ?? '');
}

async function writeGroup(load: Load, partition: string, client: WireClient): Promise<void> {
  const { random, ledger } = load;
  const count = random.pick([1, 2, 5, 20, 100]);
  const first = random.int(rowsOfWorker);
  const planned = Array.from({ length: count }, (_, index) =>
    plan(load, partition, `r${(first + index) % rowsOfWorker}`),
  );
  const changes: Changes = new Map(planned.map(({ id, row }) => [id, row]));
  ledger.issue(changes);
  const operations = planned.map(({ operation }) => operation);
  const response = await sendGroup(client, operations);
  throwFailure(response.status, load, response.text);
  const parts = response.status === 202 ? changesetParts(response) : [];
  for (const { status, head } of parts) throwFailure(status, load, head);
  if (parts.length !== count || parts.some(({ status }) => status !== 204)) {
    load.surprises.push(`a group was answered ${response.status} ${response.text.slice(0, 500)}`);
    return ledger.refuse(changes);
  }
  const etags = new Map(
    planned.map(({ id }, index) => [id, /^ETag: (.*)\r$/m.exec(parts[index]?.head ?? '')?.[1]]),
  );
  ledger.acknowledge(changes, (id) => etags.get(id) ?? '');
}

export function sendGroup(
  client: WireClient,
  operations: readonly Operation[],
): Promise<WireResponse> {
  const body = changesetBody(client.base, operations);
  const boundary = body.slice(2, body.indexOf('\r\n'));
  const headers = { 'Content-Type': `multipart/mixed; boundary=${boundary}` };
  return client.send({ method: 'POST', path: '/$batch', body, headers });
}

async function writeContended(load: Load, client: WireClient): Promise<void> {
  const { partitionKey, rowKey } = contendedRow;
  const row = load.ledger.contended(idOf(partitionKey, rowKey));
  const serial = load.ledger.nextSerial();
  row.issue(serial);
  const response = await client.send({
    method: 'PUT',
    path: entityPath(mainTable, partitionKey, rowKey),
    body: JSON.stringify({ serial, pad: '' }),
  });
  if (isRefused(load, response, 204)) return;
  const etag = response.header('ETag') ?? '';
  row.acknowledge(serial, etag);
  load.ledger.note(etag);
}

/** Creates or drops the worker's own table. It stays empty. */
async function cycleTable(load: Load, own: string, client: WireClient): Promise<void> {
  const name = `own${own}`;
  const { status, text } = await client.send({ path: `/Tables('${name}')` });
  throwFailure(status, load, text);
  load.ledger.issueTable(name);
  const response =
    status === 404
      ? await client.send({ method: 'POST', path: '/Tables', body: `{"TableName":"${name}"}` })
      : await client.send({ method: 'DELETE', path: `/Tables('${name}')` });
  if (isRefused(load, response, status === 404 ? 201 : 204)) return;
  load.ledger.acknowledgeTable(name, status === 404);
}

function isRefused(load: Load, response: WireResponse, expected: number): boolean {
  if (response.status === expected) return false;
  throwFailure(response.status, load, response.text);
  load.surprises.push(`answered ${response.status}, not ${expected}: ${response.text}`);
  return true;
}
