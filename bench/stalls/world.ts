import { filled, type PlainRequest } from './hostile-request.js';

/** The data of the server that hostile requests go to. */
export const wideTable = 'wide';
export const bigTable = 'big';
/** The small entity that the waiting client reads. */
export const smallTable = 'small';
export const smallEntity = `/${smallTable}(PartitionKey='p',RowKey='r')`;
export const queueName = 'stalls';
/** A queue without messages. */
export const idleQueue = 'idle';
/** The prefix of the queues with the most entries of metadata. */
export const crowdedPrefix = 'm';
/** 1,200 rows of 250 properties, which long filters go through. */
const wideRows = 1_200;
const wideProperties = 250;
const bigRows = 16;
const stringLength = 32_000;
const tables = 1_000;
const queues = 5_000;
/** The most that one page of a list may hold. */
const crowdedQueues = 600;

const json = { 'Content-Type': 'application/json', Prefer: 'return-no-content' };

export function rowKey(place: number): string {
  return `r${String(place).padStart(4, '0')}`;
}

/** An entity of nearly 1 MiB: strings that have to be escaped in part. */
export function bigEntity(row: string): string {
  const text = '"\\é'.repeat(stringLength / 4).slice(0, stringLength / 2);
  const members = Array.from({ length: 30 }, (_, place) => [`P${place}`, text]);
  return JSON.stringify({ PartitionKey: 'p', RowKey: row, ...Object.fromEntries(members) });
}

export function wideEntity(row: string): string {
  const members = Array.from({ length: wideProperties }, (_, place) => [`P${place}`, place]);
  return JSON.stringify({ PartitionKey: 'p', RowKey: row, ...Object.fromEntries(members) });
}

export function messageBody(text: string): string {
  return `<QueueMessage><MessageText>${text}</MessageText></QueueMessage>`;
}

/** The most entries of metadata that header fields have room for, as short as they can be. */
function crowdedMetadata(): Record<string, string> {
  const letters = Array.from('abcdefghijklmnopqrstuvwxyz');
  const names = letters.flatMap((first) =>
    Array.from(`${letters.join('')}0123456789`, (second) => first + second),
  );
  return Object.fromEntries(names.map((name) => [`x-ms-meta-${name}`, '']));
}

/** Metadata in as many headers as fit. */
export function manyMetadata(charactersMax: number): Record<string, string> {
  const names = filled(charactersMax, '\n', (place) => `x-ms-meta-n${place}`).split('\n');
  return Object.fromEntries(names.map((name) => [name, 'value']));
}

/** The requests that make the data, in order; those of one list may be sent at the same time. */
export function worldRequests(): readonly (readonly PlainRequest[])[] {
  const insert = (table: string, body: string): PlainRequest => {
    return { service: 'table', method: 'POST', path: `/${table}`, headers: json, body };
  };
  const createTable = (name: string): PlainRequest => {
    return insert('Tables', JSON.stringify({ TableName: name }));
  };
  const createQueue = (name: string): PlainRequest => {
    return { service: 'queue', method: 'PUT', path: `/${name}`, headers: manyMetadata(400) };
  };
  const list = <T>(count: number, make: (place: number) => T): readonly T[] =>
    Array.from({ length: count }, (_, place) => make(place));
  return [
    [
      createTable(wideTable),
      createTable(bigTable),
      createTable(smallTable),
      createQueue(queueName),
      createQueue(idleQueue),
    ],
    [insert(smallTable, JSON.stringify({ PartitionKey: 'p', RowKey: 'r', n: 1 }))],
    list(crowdedQueues, (place) => ({
      service: 'queue',
      method: 'PUT',
      path: `/${crowdedPrefix}${place}-`.padEnd(4, '0') + 'x',
      headers: crowdedMetadata(),
    })),
    list(wideRows, (place) => insert(wideTable, wideEntity(rowKey(place)))),
    list(bigRows, (place) => insert(bigTable, bigEntity(rowKey(place)))),
    list(tables, (place) => createTable(`T${place}${'x'.repeat(55)}`)),
    list(queues, (place) => createQueue(`q${place}-${'x'.repeat(50)}`)),
    list(64, () => ({
      service: 'queue',
      method: 'POST',
      path: `/${queueName}/messages`,
      body: messageBody('&lt;'.repeat(16_000)),
    })),
  ];
}
