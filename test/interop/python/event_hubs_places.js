// Where `tabularium/placement` puts the keys of standard input by the rule of Python: for each
// `[key, partitions]` its hash and its partition.

import { text } from 'node:stream/consumers';
import { eventHubsHash, eventHubsPartition } from 'tabularium/placement';

const places = JSON.parse(await text(process.stdin)).map(([partitionKey, partitions]) => {
  const place = eventHubsPartition({ partitionKey }, { partitions, rule: 'python' });
  return [eventHubsHash(partitionKey, 'python'), place.partition];
});
process.stdout.write(JSON.stringify(places));
