import { tableImportCommand } from './table-import.js';
import { tableInsertCommand } from './table-insert.js';
import { tableQueryCommand } from './table-query.js';

/** Makes the commands of `tabularium table`, in the order of its help. */
export const tableCommands = [tableQueryCommand, tableInsertCommand, tableImportCommand];
