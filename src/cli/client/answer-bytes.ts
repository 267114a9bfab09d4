import type { IncomingMessage } from 'node:http';

const answerBytesMax = 64 * 1024 * 1024;

/** The whole body of an answer. Throws when it breaks off, or exceeds the limit of a command. */
export async function answerBytes(answer: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > answerBytesMax) throw new Error('the answer is larger than 64 MiB');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
