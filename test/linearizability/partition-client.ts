import { sendGroup } from '../crash/load.js';
import type { SimRandom } from '../support/sim-random.js';
import { changesetParts, jsonErrorOf, type Operation } from '../wire/kit/batch.js';
import { entityPath, type WireClient } from '../wire/kit/client.js';
import type { WireResponse } from '../wire/kit/response.js';
import {
  nothing,
  type PartitionInput,
  type PartitionOutput,
  type Refusal,
  type Row,
  type Rows,
  type Write,
} from './partition-model.js';

const rowNames = ['x', 'y', 'z'];
const refusals: readonly string[] = [
  'EntityAlreadyExists',
  'ResourceNotFound',
  'UpdateConditionNotSatisfied',
] satisfies readonly Refusal[];

/** Draws a request to a partition. `seen`: etags that this client received, by row. */
export function drawPartitionInput(
  random: SimRandom,
  seen: ReadonlyMap<string, string>,
  nextSerial: () => number,
): PartitionInput {
  const kind = random.weighted({ write: 6, group: 2, get: 4, query: 2 });
  if (kind === 'get') return { kind, row: random.pick(rowNames) };
  if (kind === 'query') return { kind };
  const draw = (row: string) => drawWrite(random, row, seen.get(row), nextSerial);
  if (kind === 'write') return { kind, write: draw(random.pick(rowNames)) };
  const left = random.int(rowNames.length);
  return { kind, writes: rowNames.filter((_, index) => index !== left).map(draw) };
}

function drawWrite(
  random: SimRandom,
  row: string,
  etag: string | undefined,
  nextSerial: () => number,
): Write {
  const kind = random.weighted({ insert: 3, replace: 3, merge: 3, delete: 2 });
  const [a, b] = [nextSerial(), nextSerial()];
  if (kind === 'insert') return { kind, row, a, b };
  const condition = random.pick([etag, etag, '*', undefined]);
  if (kind === 'delete') return { kind, row, ifMatch: condition ?? '*' };
  const ifMatch = condition === undefined ? {} : { ifMatch: condition };
  return kind === 'merge' ? { kind, row, b, ...ifMatch } : { kind, row, a, b, ...ifMatch };
}

/** Sends requests to one partition of a table over one connection. */
export class PartitionClient {
  readonly #client: WireClient;
  readonly #table: string;
  readonly #partition: string;

  constructor(client: WireClient, table: string, partition: string) {
    this.#client = client;
    this.#table = table;
    this.#partition = partition;
  }

  /** Rejects when no complete response arrives, or one that a correct server does not give. */
  ask(input: PartitionInput): Promise<PartitionOutput> {
    if (input.kind === 'get') return this.#get(input.row);
    if (input.kind === 'query') return this.#query();
    if (input.kind === 'write') return this.#write(input.write);
    return this.#group(input.writes);
  }

  async #get(row: string): Promise<PartitionOutput> {
    const response = await this.#client.get(this.#table, this.#partition, row);
    if (response.status === 404) return { kind: 'rows', rows: {} };
    if (response.status !== 200) throw unexpected(response);
    return { kind: 'rows', rows: { [row]: rowOf(response.json) } };
  }

  async #query(): Promise<PartitionOutput> {
    const response = await this.#client.query(this.#table, {
      filter: `PartitionKey eq '${this.#partition}'`,
    });
    if (response.status !== 200) throw unexpected(response);
    const rows: Rows = Object.fromEntries(
      response.items.map((item) => [String(item['RowKey']), rowOf(item)]),
    );
    return { kind: 'rows', rows };
  }

  async #write(write: Write): Promise<PartitionOutput> {
    const response = await this.#client.send(this.#operationOf(write));
    if (response.status === 204) {
      return { kind: 'written', etags: [response.header('ETag') ?? ''] };
    }
    const error = response.json['odata.error'] as { readonly code?: string } | undefined;
    return { kind: 'refused', code: refusalIn(error?.code, response), index: 0 };
  }

  async #group(writes: readonly Write[]): Promise<PartitionOutput> {
    const operations = writes.map((write) => this.#operationOf(write));
    const response = await sendGroup(this.#client, operations);
    if (response.status !== 202) throw unexpected(response);
    const parts = changesetParts(response);
    const [first] = parts;
    if (first === undefined) throw unexpected(response);
    if (first.status < 300) {
      const etags = parts.map(({ head }) => /^ETag: (.*)\r$/m.exec(head)?.[1] ?? '');
      return { kind: 'written', etags };
    }
    const { code, message } = jsonErrorOf(first);
    const index = Number(/^(\d+):/.exec(message)?.[1] ?? 0);
    return { kind: 'refused', code: refusalIn(code, response), index };
  }

  #operationOf(write: Write): Operation {
    const json = { 'Content-Type': 'application/json', Accept: 'application/json' };
    const path = entityPath(this.#table, this.#partition, write.row);
    if (write.kind === 'insert') {
      const { row, a, b } = write;
      return {
        method: 'POST',
        path: `/${this.#table}`,
        headers: { ...json, Prefer: 'return-no-content' },
        body: JSON.stringify({ PartitionKey: this.#partition, RowKey: row, a, b }),
      };
    }
    const condition = write.ifMatch === undefined ? {} : { 'If-Match': write.ifMatch };
    const headers = { ...json, ...condition };
    if (write.kind === 'delete') return { method: 'DELETE', path, headers };
    const { b } = write;
    if (write.kind === 'merge') {
      return { method: 'MERGE', path, headers, body: JSON.stringify({ b }) };
    }
    return { method: 'PUT', path, headers, body: JSON.stringify({ a: write.a, b }) };
  }
}

function rowOf(item: Record<string, unknown>): Row {
  const numberOf = (name: string) => (item[name] === undefined ? nothing : Number(item[name]));
  return { a: numberOf('a'), b: numberOf('b'), etag: String(item['odata.etag']) };
}

function refusalIn(code: string | undefined, response: WireResponse): Refusal {
  if (code !== undefined && refusals.includes(code)) return code as Refusal;
  throw unexpected(response);
}

function unexpected(response: WireResponse): Error {
  return new Error(`no sound server answers ${response.status} ${response.text.slice(0, 500)}`);
}
