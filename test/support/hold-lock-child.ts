import { openEnvironment } from '../../src/engines/lmdb/environment.js';
import { writeTransaction } from '../../src/engines/lmdb/write-transaction.js';

// A process that stops, as by SIGSTOP, in the middle of a write, so that it keeps the lock of the
// data file.
const [directory = ''] = process.argv.slice(2);
const { root, meta } = openEnvironment(directory, { sync: false });

meta.get(Buffer.from('key'));
meta.endRead();
void writeTransaction(root, () => {
  process.stdout.write('holds\n');
  process.kill(process.pid, 'SIGSTOP');
});
