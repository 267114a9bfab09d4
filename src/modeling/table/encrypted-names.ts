import type { Row } from '../rows/row.js';
import type { TableGateway } from './gateway.js';

/**
 * A row that marks all that the table encrypts of it, so that rows with other keys that are made of
 * it, in this table or another one, are encrypted as well.
 */
export function withEncryptedNames<R extends Row>({ encrypts }: TableGateway, row: R): R {
  const encrypt = encrypts?.(row) ?? [];
  return encrypt.length === 0 ? row : { ...row, encrypt };
}
