import type { Row } from '../rows/row.js';
import type { TableGateway } from './gateway.js';

/**
 * The row with marks for all properties that the table encrypts, so that rows made from it, with
 * other keys or in another table, are encrypted as well.
 */
export function withEncryptedNames<R extends Row>({ encrypts }: TableGateway, row: R): R {
  const encrypt = encrypts?.(row) ?? [];
  return encrypt.length === 0 ? row : { ...row, encrypt };
}
