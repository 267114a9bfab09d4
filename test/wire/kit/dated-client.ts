import { queueAuthorizationOf } from './queue-signature.js';
import type { Dial } from './connection.js';
import type { Headers } from './request-bytes.js';
import type { WireResponse } from './response.js';
import { developmentAccount, developmentKey } from './signature.js';
import {
  SigningClient,
  type SignableRequest,
  type Signer,
  type WireRequest,
} from './signing-client.js';

export interface DatedRequest extends WireRequest {
  /** `x-ms-version`; default 2021-12-02. */
  readonly version?: string;
}

/** A client of queues or blobs: signed with SharedKey over `x-ms-date`, version 2021-12-02. */
export class DatedClient extends SigningClient<DatedRequest> {
  protected readonly defaultPath = '/?comp=list';
  protected readonly bodyType: string = 'application/xml';
  protected readonly scheme = 'SharedKey';
  readonly #now: () => Date;

  constructor(
    port: number,
    options: Partial<Signer> & {
      /** The time for `x-ms-date`; by default that of the machine. */
      readonly now?: () => Date;
      readonly dial?: Dial;
    } = {},
  ) {
    const { account = developmentAccount, key = developmentKey, now = () => new Date() } = options;
    super(port, { account, key }, options.dial);
    this.#now = now;
  }

  protected defaultHeaders({ version = '2021-12-02' }: DatedRequest): Headers {
    return { 'x-ms-version': version, 'x-ms-date': this.#now().toUTCString() };
  }

  protected authorization(request: SignableRequest): string {
    return queueAuthorizationOf(request);
  }

  /** Sends a request; throws with the response unless it has this status. */
  async expect(status: number, request: DatedRequest): Promise<WireResponse> {
    const response = await this.send(request);
    if (response.status === status) return response;
    const asked = `${request.method ?? 'GET'} ${request.path ?? request.target ?? ''}`;
    throw new Error(`${asked}: ${response.status}, not ${status}\n${response.text}`);
  }
}
