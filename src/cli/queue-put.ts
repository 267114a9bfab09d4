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
import { onInterrupt } from './terminal/interrupt.js';
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

/** A message, and its name in reports. */
interface Given {
  readonly bytes: Buffer;
  /** The number of its line, from 1, where lines are messages. */
  readonly line?: number;
}

/** The progress of a command. */
interface Progress {
  count: number;
  /** The line of the last message that was put, where lines are messages. */
  line: number | undefined;
  /** The message to print if the process is interrupted now. */
  doubt: string | undefined;
}

async function put(text: string | undefined, flags: PutFlags): Promise<void> {
  const { queue } = flags;
  const chunks = source(text, flags.file);
  const messages = flags.lines === true ? lines(chunks) : whole(chunks);
  const client = new QueueClient(connectionOf(flags, 'queue'));
  const progress: Progress = { count: 0, line: undefined, doubt: undefined };
  const release = onInterrupt(() => {
    report(queue, progress);
    if (progress.doubt !== undefined) notice(progress.doubt);
  });
  try {
    if (flags.create === true) await retrying(briefRetries, () => client.createQueue(queue));
    for await (const given of messages) await putOne(client, given, flags, progress);
    report(queue, { ...progress, line: undefined });
  } catch (error) {
    if (progress.count === 0) throw withCreateHint(error);
    report(queue, progress);
    throw afterSomeWork(error);
  } finally {
    release();
    client.close();
  }
}

/** Not retried: a repeated put could add the message twice. */
async function putOne(
  client: QueueClient,
  { bytes, line }: Given,
  { queue, base64 = false, visibility, ttl }: PutFlags,
  progress: Progress,
): Promise<void> {
  const text = sentText(bytes, { base64 });
  const advice = doubtOf(line === undefined ? 'The message' : `Line ${line}`, queue, visibility);
  progress.doubt = advice;
  try {
    const id = await client.put(queue, text, { visibilitySeconds: visibility, timeToLive: ttl });
    process.stdout.write(`${printable(id)}\n`);
  } catch (error) {
    throw withDoubt(error, advice);
  } finally {
    progress.doubt = undefined;
  }
  progress.count++;
  progress.line = line;
}

function doubtOf(named: string, queue: string, visibility = 0): string {
  const when = visibility === 0 ? '' : `, after the ${visibility} seconds that it is invisible`;
  return (
    `${named} may have been added all the same, and was not put again: look with ` +
    `"tabularium queue peek -q ${queue}" before you do${when}. That shows the front of the queue ` +
    'alone: what it does not show can be further behind, or taken by somebody.'
  );
}

/** `line`: that of the last message that was put, where the work ended early. */
function report(queue: string, { count, line }: Pick<Progress, 'count' | 'line'>): void {
  const upTo = line === undefined ? '' : `, up to line ${line}`;
  notice(`Put ${counted(count, 'message')} into ${queue}${upTo}.`);
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

async function* whole(chunks: AsyncIterable<Buffer>): AsyncGenerator<Given> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    size += chunk.length;
    if (size > messageBytesMax) throw tooLong('The message');
    parts.push(chunk);
  }
  yield { bytes: Buffer.concat(parts) };
}

const lineFeed = 0x0a;
const carriageReturn = 0x0d;

/** Lines without line ends; empty ones are skipped. */
async function* lines(chunks: AsyncIterable<Buffer>): AsyncGenerator<Given> {
  let rest = Buffer.alloc(0);
  let number = 1;
  for await (const chunk of chunks) {
    rest = Buffer.concat([rest, chunk]);
    let start = 0;
    for (let end = rest.indexOf(lineFeed); end >= 0; end = rest.indexOf(lineFeed, start)) {
      yield* given(rest.subarray(start, end), number);
      number++;
      start = end + 1;
    }
    rest = rest.subarray(start);
    if (rest.length > messageBytesMax) throw tooLong(`Line ${number}`);
  }
  yield* given(rest, number);
}

function* given(line: Buffer, number: number): Generator<Given> {
  const bytes = line.at(-1) === carriageReturn ? line.subarray(0, -1) : line;
  if (bytes.length > 0) yield { bytes, line: number };
}

function tooLong(named: string): UsageError {
  return new UsageError(`${named} is longer than 1 MiB; the service takes 64 KiB.`);
}
