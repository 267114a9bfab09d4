import type { Reply } from '../pipeline/service.js';

export function xmlReply(status: number, body: Buffer): Reply {
  return {
    status,
    headers: ['Content-Type', 'application/xml', 'Cache-Control', 'no-cache'],
    body,
  };
}

export function emptyReply(status: number): Reply {
  return { status, headers: [] };
}
