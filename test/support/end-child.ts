import { openEnvironment } from '../../src/engines/lmdb/environment.js';
import { writeTransaction } from '../../src/engines/lmdb/write-transaction.js';
import { endProcess } from '../../src/cli/start/process-end.js';

// A process that exits with 7 in the middle of a write.
const [directory = ''] = process.argv.slice(2);
const { root, meta } = openEnvironment(directory, { sync: false });

void writeTransaction(root, () => {
  meta.put(Buffer.from('key'), Buffer.from('value'), 1);
  void endProcess(7);
});
