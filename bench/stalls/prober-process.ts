// Sends the same request to a server again and again: `prober-process.js PORT PATH`. Reports to its
// parent, when asked, the observations since the last report.
import { createConnection } from 'node:net';
import { ResponseReader } from '../response-reader.js';
import type { Observation } from './prober.js';

/** The pause before it connects again after its connection was closed. */
const reconnectMs = 20;

const port = Number(process.argv[2]);
const path = process.argv[3] ?? '/';
const request = Buffer.from(
  `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: application/json\r\n\r\n`,
);
let longestMs = 0;
let refused = 0;
let isAsked = false;

/** Counts an answer, or its absence. */
function settled(sentAt: number, isServed: boolean): void {
  longestMs = Math.max(longestMs, performance.now() - sentAt);
  if (!isServed) refused += 1;
  // Counts the request that still waits as well.
  if (!isAsked) return;
  const observation: Observation = { longestMs, refused };
  process.send?.(observation);
  longestMs = 0;
  refused = 0;
  isAsked = false;
}

function connect(): void {
  const socket = createConnection(port, '127.0.0.1');
  let sentAt = performance.now();
  const send = (): void => {
    sentAt = performance.now();
    socket.write(request);
  };
  const reader = new ResponseReader((status) => {
    settled(sentAt, status === 200);
    send();
  });
  socket.on('data', (chunk: Buffer) => reader.push(chunk));
  socket.on('error', () => {});
  socket.once('connect', send);
  socket.once('close', () => {
    settled(sentAt, false);
    setTimeout(connect, reconnectMs);
  });
}

connect();
process.on('message', () => {
  isAsked = true;
});
process.once('disconnect', () => process.exit(0));
