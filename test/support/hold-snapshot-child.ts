import { openEnvironment } from '../../src/engines/lmdb/environment.js';

// A process that stays in the middle of a read, so that its snapshot prevents the reuse of freed
// pages.
const [directory = ''] = process.argv.slice(2);
const { root, entries } = openEnvironment(directory, { sync: false });

const transaction = root.useReadTransaction();
entries.database.get(Buffer.from('key'), { transaction });
process.stdout.write('holds\n');
// Keeps the transaction alive, and the process.
setInterval(() => entries.database.get(Buffer.from('key'), { transaction }), 1_000);
