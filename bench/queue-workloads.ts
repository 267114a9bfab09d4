import { createConnection } from 'node:net';
import { unreachable } from '../src/base/invariant.js';
import { prose } from './dataset.js';
import type { Target } from './http-request.js';
import { queuePlan, type QueueKind } from './kinds.js';
import { expectStatus, type Workload } from './load.js';
import { StorageSigner, timeoutParameter } from './storage-signer.js';

/** Characters of a message's text. */
export const messageCharacters = 1024;
const batchMax = 32;
/**
 * Longer than a measurement, so that a message that was taken and not deleted does not reappear
 * during it.
 */
const visibilitySeconds = '300';
/** Answers without a message after which a connection considers the queue empty. */
const emptyAnswersMax = 3;

export const messageText = prose(7, messageCharacters);

function putRequest(signer: StorageSigner, queue: string): Buffer {
  const body =
    '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>' +
    `<QueueMessage><MessageText>${messageText}</MessageText></QueueMessage>`;
  const path = `/${queue}/messages`;
  return signer.request({ method: 'POST', path, query: [timeoutParameter], body });
}

/** Puts the same message over and over; up to so many. */
export function puts(target: Target, queue: string, count = Infinity): Workload {
  const request = putRequest(new StorageSigner(target, 'queue'), queue);
  let left = count;
  return {
    next() {
      left -= 1;
      return left < 0 ? undefined : request;
    },
    status: 201,
    marker: '<MessageId>',
    occurrences: 1,
  };
}

/** A message in an answer. */
interface Held {
  readonly id: string;
  readonly popReceipt: string;
}

function textOf(body: string, element: string, at: number): { text: string; end: number } {
  const start = body.indexOf(`<${element}>`, at);
  if (start < 0) throw new Error(`The server sent a message without ${element}.`);
  const end = body.indexOf('<', start + element.length + 2);
  return { text: body.slice(start + element.length + 2, end), end };
}

/** Ids and receipts of all messages of an answer. */
export function heldIn(body: readonly Buffer[]): Held[] {
  const xml = (body.length === 1 ? body[0] : Buffer.concat(body))?.toString('latin1') ?? '';
  const held: Held[] = [];
  let at = xml.indexOf('<QueueMessage>');
  while (at >= 0) {
    const id = textOf(xml, 'MessageId', at);
    const receipt = textOf(xml, 'PopReceipt', id.end);
    const message = textOf(xml, 'MessageText', receipt.end);
    if (message.text.length !== messageCharacters) {
      throw new Error(`The server sent a text of ${message.text.length} characters.`);
    }
    held.push({ id: id.text, popReceipt: receipt.text });
    at = xml.indexOf('<QueueMessage>', message.end);
  }
  return held;
}

/** The state of one connection. */
interface Consumer {
  readonly held: Held[];
  isGetting: boolean;
  emptyAnswers: number;
}

/** Each connection gets up to `count` messages and deletes them one by one: a unit is a message. */
function consumers(target: Target, queue: string, count: number): Workload {
  const signer = new StorageSigner(target, 'queue');
  const getRequest = signer.request({
    method: 'GET',
    path: `/${queue}/messages`,
    query: [
      ['numofmessages', String(count)],
      timeoutParameter,
      ['visibilitytimeout', visibilitySeconds],
    ],
  });
  const all = new Map<number, Consumer>();
  const consumerOf = (connection: number): Consumer => {
    const known = all.get(connection);
    if (known !== undefined) return known;
    const consumer: Consumer = { held: [], isGetting: false, emptyAnswers: 0 };
    all.set(connection, consumer);
    return consumer;
  };
  return {
    next(connection) {
      const consumer = consumerOf(connection);
      const message = consumer.held.pop();
      consumer.isGetting = message === undefined;
      if (message === undefined) {
        return consumer.emptyAnswers < emptyAnswersMax ? getRequest : undefined;
      }
      return signer.request({
        method: 'DELETE',
        path: `/${queue}/messages/${message.id}`,
        query: [['popreceipt', message.popReceipt], timeoutParameter],
      });
    },
    answered(connection, status, body) {
      const consumer = consumerOf(connection);
      expectStatus(status, consumer.isGetting ? 200 : 204, body);
      if (!consumer.isGetting) return 1;
      consumer.held.push(...heldIn(body));
      consumer.emptyAnswers = consumer.held.length === 0 ? consumer.emptyAnswers + 1 : 0;
      return 0;
    },
  };
}

/** The load of a kind. Call it again for every measurement. */
export function makeQueueWorkload(kind: QueueKind, target: Target): Workload {
  const { operation, queue } = queuePlan(kind);
  switch (operation) {
    case 'put':
      return puts(target, queue);
    case 'get-delete':
      return consumers(target, queue, batchMax);
    case 'get-delete-one':
      return consumers(target, queue, 1);
    default:
      return unreachable(operation);
  }
}

/** Creates a queue; sent once. */
export function queueCreation(target: Target, queue: string): Workload {
  const signer = new StorageSigner(target, 'queue');
  const requests = [
    signer.request({ method: 'PUT', path: `/${queue}`, query: [timeoutParameter] }),
  ];
  return { next: () => requests.pop(), status: 201, marker: 'anything', occurrences: 0 };
}

/** How many messages a queue says that it has. */
export async function countMessages(target: Target, queue: string): Promise<number> {
  const request = new StorageSigner(target, 'queue').request({
    method: 'GET',
    path: `/${queue}`,
    query: [['comp', 'metadata'], timeoutParameter],
  });
  const { host, port } = target;
  const socket = createConnection(port, host);
  try {
    socket.write(request);
    let head = '';
    for await (const data of socket) {
      head += String(data);
      const count = /\r\nx-ms-approximate-messages-count: *(\d+)\r\n/i.exec(head)?.[1];
      if (count !== undefined) return Number(count);
      if (head.includes('\r\n\r\n')) break;
    }
    throw new Error(`The server told no count of messages: ${head}`);
  } finally {
    socket.destroy();
  }
}
