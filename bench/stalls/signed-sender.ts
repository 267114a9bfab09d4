import { request as httpRequest } from 'node:http';
import { unreachable } from '../../src/base/invariant.js';
import { signRequest } from '../../src/wire/auth/shared-key.js';
import type { Ports } from '../child.js';
import type { Target } from '../http-request.js';
import type { PlainRequest } from './hostile-request.js';

const version = '2021-12-02';
const headerSizeMax = 1 << 20;

/** Sends requests on connections of their own, signed with the key of an account. */
export class SignedSender {
  readonly #ports: Ports;
  readonly #account: Target['account'];

  constructor(ports: Ports, account: Target['account']) {
    this.#ports = ports;
    this.#account = account;
  }

  /** The status of the answer, of which all has come; 0 when the connection broke before. */
  send(plain: PlainRequest): Promise<number> {
    const { method, service, body } = plain;
    const path = plain.unsigned === true ? plain.path : `/${this.#account.name}${plain.path}`;
    const headers = plain.unsigned === true ? plain.headers : this.#signed(plain, path);
    return new Promise((resolve) => {
      const request = httpRequest(
        {
          host: '127.0.0.1',
          port: this.#ports[service],
          method,
          path,
          agent: false,
          maxHeaderSize: headerSizeMax,
          headers: { ...headers, connection: 'close' },
        },
        (response) => {
          response.on('error', () => resolve(0));
          response.on('end', () => resolve(response.statusCode ?? 0));
          response.resume();
        },
      );
      request.on('error', () => resolve(0));
      request.end(body);
    });
  }

  #signed({ service, method, body = '', headers = {} }: PlainRequest, path: string) {
    const dated: Record<string, string> = {
      'x-ms-version': version,
      accept: 'application/json',
      ...lowerNames(headers),
      'x-ms-date': new Date().toUTCString(),
      'content-length': String(Buffer.byteLength(body)),
    };
    const [rawPath = '', rawQuery = ''] = path.split(/\?(.*)/s);
    switch (service) {
      case 'table':
        dated['authorization'] = signRequest('SharedKeyLite', this.#account, {
          form: 'table',
          method,
          rawPath,
          comp: new URLSearchParams(rawQuery).get('comp') ?? undefined,
          contentMd5: undefined,
          contentType: undefined,
          xMsDate: dated['x-ms-date'],
        });
        return dated;
      case 'queue':
        dated['authorization'] = signRequest('SharedKey', this.#account, {
          form: 'blob-queue',
          method,
          rawPath,
          rawQuery,
          version: dated['x-ms-version'] ?? version,
          headers: Object.entries(dated).flat(),
        });
        return dated;
      default:
        return unreachable(service);
    }
  }
}

function lowerNames(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  );
}
