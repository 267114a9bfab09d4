import type { Exchange } from '../exchange/exchange.js';
import type { Routable } from '../exchange/router.js';
import type { Reply } from '../exchange/service.js';

/** An answer outside every storage service: no account, no credentials. */
export interface Endpoint extends Routable<Exchange> {
  /** As records and logs show it. */
  readonly name: string;
  /** As sent, from the first slash on. */
  readonly path: string;
  answer(exchange: Exchange): Promise<Reply>;
}
