import { Command, Option } from 'commander';
import { visibilitySecondsMax } from '../services/queues/limits.js';
import {
  connectionOf,
  createOption,
  queueOption,
  withConnectionOptions,
  type ConnectionFlags,
} from './client/connection-options.js';
import { afterSomeWork, UsageError } from './terminal/failure.js';
import { openInputFile, streamBytes } from './import/input.js';
import { base64Option, sentText } from './views/message-text.js';
import { duration } from './arguments/option-parsers.js';
import { QueueClient } from './client/queue-client.js';
import { briefRetries, retrying } from './client/retry.js';
import { withCreateHint, withDoubt } from './client/service-error.js';
import { counted, printable } from './terminal/terminal.js';
import { notice } from './terminal/notice.js';

interface PutFlags extends ConnectionFlags {
  readonly queue: string;
  readonly file?: string;
  readonly lines?: boolean;
  readonly visibility?: number;
  readonly ttl?: number | 'never';
  readonly base64?: boolean;
  readonly create?: boolean;
}

const ttlSecondsMax = 2_147_483_647;

export function queuePutCommand(): Command {
  const command = new Command('put')
    .summary('add messages and print their ids')
    .description(
      'Add a message to the queue and print its id. Its text is the argument, a file or standard ' +
        'input, as it is. With --lines, every line that is not empty is a message of its own; they ' +
        'are added in order. A message is put once: when the answer is lost, the command says that ' +
        'it may have been added, and ends.',
    )
    .argument('[text]', 'the text of the message')
    .addOption(queueOption())
    .option('-f, --file <path>', 'take the text from a file; - for standard input')
    .option('--lines', 'one message per line')
    .addOption(
      new Option(
        '--visibility <duration>',
        'how long it stays invisible at first: 90, 90s, 5m, 2h, 7d (default: 0)',
      ).argParser(duration(0, visibilitySecondsMax)),
    )
    .addOption(
      new Option(
        '--ttl <duration>',
        'how long it lives if nobody deletes it: 90, 90s, 5m, 2h, 30d or never (default: 7d)',
      ).argParser((text) => (text === 'never' ? text : duration(1, ttlSecondsMax)(text))),
    )
    .addOption(base64Option('put the base64 of the text, as many clients expect it'))
    .addOption(createOption('queue'));
  return withConnectionOptions(command, 'queue')
    .addHelpText(
      'after',
      `
Examples:
  tabularium queue put -q work --create 'resize 42.png'
  tabularium queue put -q work --visibility 5m --ttl never < job.json
  tabularium queue put -q work --lines --file jobs.txt`,
    )
    .action(put);
}

async function put(text: string | undefined, flags: PutFlags): Promise<void> {
  const { queue, base64 = false } = flags;
  const options = { visibilitySeconds: flags.visibility, timeToLive: flags.ttl };
  const chunks = source(text, flags.file);
  const messages = flags.lines === true ? lines(chunks) : whole(chunks);
  const client = new QueueClient(connectionOf(flags, 'queue'));
  let count = 0;
  try {
    if (flags.create === true) await retrying(briefRetries, () => client.createQueue(queue));
    for await (const bytes of messages) {
      const text = sentText(bytes, { base64 });
      const named = flags.lines === true ? `Message ${count + 1}` : 'The message';
      const id = await once(() => client.put(queue, text, options), named, queue);
      process.stdout.write(`${printable(id)}\n`);
      count++;
    }
    report(count, queue);
  } catch (error) {
    if (count === 0) throw withCreateHint(error);
    report(count, queue);
    throw afterSomeWork(error);
  } finally {
    client.close();
  }
}

/** Not retried: a repeated put could add the message twice. */
async function once<T>(put: () => Promise<T>, named: string, queue: string): Promise<T> {
  try {
    return await put();
  } catch (error) {
    const advice =
      `${named} may have been added all the same, and was not put again: look with ` +
      `"tabularium queue peek -q ${queue}" before you do.`;
    throw withDoubt(error, advice);
  }
}

function report(count: number, queue: string): void {
  notice(`Put ${counted(count, 'message')} into ${queue}.`);
}

function source(text: string | undefined, file: string | undefined): AsyncIterable<Buffer> {
  if (text !== undefined && file !== undefined) {
    throw new UsageError('Give the text either as an argument or with --file, not both.');
  }
  if (text !== undefined) return one(Buffer.from(text));
  if (file !== undefined && file !== '-') return fileBytes(file);
  if (file === undefined && process.stdin.isTTY) {
    throw new UsageError('Give the text as an argument, with --file, or on standard input.');
  }
  return streamBytes(process.stdin);
}

async function* one(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes;
}

async function* fileBytes(name: string): AsyncGenerator<Buffer> {
  const { handle } = await openInputFile(name);
  yield* streamBytes(handle.createReadStream());
}

/** Much longer than any message, so that the service refuses slightly longer ones. */
const messageBytesMax = 1024 * 1024;

async function* whole(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    size += chunk.length;
    if (size > messageBytesMax) throw tooLong();
    parts.push(chunk);
  }
  yield Buffer.concat(parts);
}

const lineFeed = 0x0a;
const carriageReturn = 0x0d;

/** Lines without line ends; empty ones are skipped. */
async function* lines(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let rest = Buffer.alloc(0);
  for await (const chunk of chunks) {
    rest = Buffer.concat([rest, chunk]);
    let start = 0;
    for (let end = rest.indexOf(lineFeed); end >= 0; end = rest.indexOf(lineFeed, start)) {
      yield* line(rest.subarray(start, end));
      start = end + 1;
    }
    rest = rest.subarray(start);
    if (rest.length > messageBytesMax) throw tooLong();
  }
  yield* line(rest);
}

function* line(bytes: Buffer): Generator<Buffer> {
  const text = bytes.at(-1) === carriageReturn ? bytes.subarray(0, -1) : bytes;
  if (text.length > 0) yield text;
}

function tooLong(): UsageError {
  return new UsageError('The message is longer than 1 MiB; the service takes 64 KiB.');
}
