// Asks a server for the same thing again and again: `prober-process.js PORT PATH`. Tells its parent
// the longest time that an answer has taken since the parent asked last.
import { createConnection } from 'node:net';
import { ResponseReader } from '../response-reader.js';

const port = Number(process.argv[2]);
const path = process.argv[3] ?? '/';
const request = Buffer.from(
  `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: application/json\r\n\r\n`,
);
const socket = createConnection(port, '127.0.0.1');
let sentAt = performance.now();
let longestMs = 0;
let isAsked = false;

function send(): void {
  sentAt = performance.now();
  socket.write(request);
}

const reader = new ResponseReader((status) => {
  if (status !== 200) throw new Error(`The other client gets status ${status}.`);
  longestMs = Math.max(longestMs, performance.now() - sentAt);
  // Only now: what is under way counts as well.
  if (isAsked) {
    process.send?.(longestMs);
    longestMs = 0;
    isAsked = false;
  }
  send();
});

socket.on('data', (chunk: Buffer) => reader.push(chunk));
socket.once('connect', () => {
  process.send?.(0);
  send();
});
process.on('message', () => {
  isAsked = true;
});
process.once('disconnect', () => process.exit(0));
