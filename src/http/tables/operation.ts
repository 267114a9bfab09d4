import type { Operation } from '../exchange/service.js';
import type { TableRequest } from './request.js';

export type TableOperation<Input = unknown, Output = unknown> = Operation<
  TableRequest,
  Input,
  Output
>;

/** The longest body of any operation (table-service §2.2). */
export const bodyBytesMax = 4 * 1024 * 1024;
