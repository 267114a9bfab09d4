import assert from 'node:assert/strict';
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { it } from 'node:test';
import { AbortedError, readBody } from './body.js';

it('a body whose client has left before it is read ends the request', async () => {
  const request = new IncomingMessage(new Socket());
  request.destroy();
  await assert.rejects(readBody(request, 100), AbortedError);
});
