import type { Exchange } from '../exchange/exchange.js';
import type { Reply } from '../exchange/service.js';

/** An answer outside every storage service: no account, no credentials. */
export interface Endpoint {
  /** As records and logs show it. */
  readonly name: string;
  matches(exchange: Exchange): boolean;
  answer(exchange: Exchange): Promise<Reply>;
}
