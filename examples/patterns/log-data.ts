// Log records in blobs, named by their hour, written at once or in large pieces.
// Works with the cloud service and Azurite. Run it while the blob service runs.
import { BlobServiceClient } from '@azure/storage-blob';
import { Instant } from 'tabularium/modeling';
import {
  logReaderOf,
  logWriterOf,
  openLogBlobs,
  type LogFormat,
} from 'tabularium/modeling/log-data';

const connection = process.env['AZURE_STORAGE_CONNECTION_STRING'] ?? 'UseDevelopmentStorage=true';
const service = BlobServiceClient.fromConnectionString(connection);
const container = service.getContainerClient(`log-data-example-${process.pid}`);
await container.create();
try {
  const blobs = openLogBlobs(container);
  const format: LogFormat<'operation' | 'status' | 'client'> = {
    columns: ['operation', 'status', 'client'],
  };

  // Buffered: a blob is written when 1 MiB or a minute is full, when the hour ends, and by close.
  const buffered = logWriterOf({
    blobs,
    source: 'queue',
    format,
    mode: { bytesMax: 1_048_576, ageMsMax: 60_000, onError: (error) => console.error(error) },
  });
  const at = (text: string) => Instant.parse(`2014-07-31T${text}Z`);
  await buffered.write({ time: at('17:59:59.9'), operation: 'PutMessage', status: '201' });
  await buffered.write({ time: at('18:00:00.1'), operation: 'GetMessages', status: '200' });
  await buffered.write({
    time: at('18:10:00.1234567'),
    operation: 'PutMessage',
    status: '403',
    client: 'name; with "quotes"\nand lines',
  });
  await buffered.close();

  // Immediate: each record is stored when its write resolves.
  const immediate = logWriterOf({ blobs, source: 'queue', format, mode: 'immediate' });
  await immediate.write({ time: at('18:30:00'), operation: 'DeleteMessage', status: '204' });
  await immediate.close();

  const reader = logReaderOf({ blobs, source: 'queue', format });
  const evening = { from: at('18:00:00'), to: at('19:00:00') };
  for await (const { name, first, last, records } of reader.find(evening)) {
    console.log(`${name}: ${records} from ${first.toString()} to ${last?.toString()}`);
  }
  for await (const { time, operation, status, client } of reader.read(evening)) {
    console.log(`${time.toString()} ${operation} ${status} ${JSON.stringify(client ?? '')}`);
  }
  const text = Buffer.from(await blobs.read('queue/2014/07/31/1800/000001.log')).toString();
  console.log(`as stored:\n${text}`);
} finally {
  await container.delete();
}
