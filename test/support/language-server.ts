import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { root } from './repository-files.js';

/** A message of the Language Server Protocol. */
interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: { readonly items?: readonly unknown[] };
  readonly result?: unknown;
  readonly error?: { readonly message: string };
}

/** The compiler as editors run it, for one file that it is given as text. */
export class LanguageServer {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #answers = new Map<number, (message: Message) => void>();
  readonly #ended: Promise<unknown>;
  #received = Buffer.alloc(0);
  #ids = 0;

  private constructor() {
    const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
    this.#child = spawn(process.execPath, [tsc, '--lsp', '--stdio'], {
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    this.#ended = once(this.#child, 'close');
    this.#child.stdout.on('data', (chunk: Buffer) => this.#take(chunk));
    this.#child.on('close', () => {
      for (const answer of this.#answers.values()) answer({ error: { message: 'it has ended' } });
    });
  }

  static async start(folder: string): Promise<LanguageServer> {
    const server = new LanguageServer();
    const hover = { contentFormat: ['plaintext'] };
    await server.#request('initialize', {
      processId: process.pid,
      rootUri: pathToFileURL(folder).href,
      capabilities: { textDocument: { hover, diagnostic: {} } },
    });
    server.#send({ method: 'initialized', params: {} });
    return server;
  }

  open(file: string, text: string): void {
    const uri = pathToFileURL(file).href;
    const textDocument = { uri, languageId: 'typescript', version: 1, text };
    this.#send({ method: 'textDocument/didOpen', params: { textDocument } });
  }

  /** The errors of an opened file. */
  async errors(file: string): Promise<readonly string[]> {
    const textDocument = { uri: pathToFileURL(file).href };
    const found = (await this.#request('textDocument/diagnostic', { textDocument })) as {
      readonly items: readonly { readonly message: string; readonly severity: number }[];
    };
    return found.items.filter(({ severity }) => severity === 1).map(({ message }) => message);
  }

  /** What an editor shows at a place of an opened file, from 0. */
  async hover(file: string, line: number, character: number): Promise<string> {
    const found = (await this.#request('textDocument/hover', {
      textDocument: { uri: pathToFileURL(file).href },
      position: { line, character },
    })) as { readonly contents: { readonly value: string } } | null;
    return found?.contents.value ?? '';
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#request('shutdown');
    this.#send({ method: 'exit' });
    this.#child.stdin.end();
    await this.#ended;
  }

  async #request(method: string, params?: object): Promise<unknown> {
    const id = (this.#ids += 1);
    const answer = new Promise<Message>((resolve) => this.#answers.set(id, resolve));
    this.#send({ id, method, params });
    const { result, error } = await answer;
    if (error !== undefined) throw new Error(`${method}: ${error.message}`);
    return result;
  }

  #send(message: object): void {
    const body = JSON.stringify({ jsonrpc: '2.0', ...message });
    this.#child.stdin.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
  }

  #take(chunk: Buffer): void {
    this.#received = Buffer.concat([this.#received, chunk]);
    for (;;) {
      const end = this.#received.indexOf('\r\n\r\n');
      if (end < 0) return;
      const header = this.#received.subarray(0, end).toString('latin1');
      const bytes = Number(/Content-Length: (\d+)/i.exec(header)?.[1]);
      const body = this.#received.subarray(end + 4, end + 4 + bytes);
      if (body.length < bytes) return;
      this.#received = this.#received.subarray(end + 4 + bytes);
      this.#handle(JSON.parse(body.toString()) as Message);
    }
  }

  #handle({ id, method, params, ...rest }: Message): void {
    if (id === undefined) return;
    if (method === undefined) {
      this.#answers.get(id)?.(rest);
      this.#answers.delete(id);
      return;
    }
    // Settings are those of nobody; anything else that it asks for is granted.
    this.#send({ id, result: params?.items?.map(() => null) ?? null });
  }
}
