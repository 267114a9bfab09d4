// Asks a server for the same thing again and again: `prober-process.js PORT PATH`. Whenever its
// parent asks, it tells what it has seen since the parent asked last.
import { createConnection } from 'node:net';
import { ResponseReader } from '../response-reader.js';
import type { Observation } from './prober.js';

/** Before it connects again, when its connection was closed. */
const reconnectMs = 20;

const port = Number(process.argv[2]);
const path = process.argv[3] ?? '/';
const request = Buffer.from(
  `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: application/json\r\n\r\n`,
);
let longestMs = 0;
let refused = 0;
let isAsked = false;

/** An answer has come, or will not come. */
function settled(sentAt: number, isServed: boolean): void {
  longestMs = Math.max(longestMs, performance.now() - sentAt);
  if (!isServed) refused += 1;
  // Only now: what is under way counts as well.
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
