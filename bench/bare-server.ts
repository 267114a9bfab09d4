// The ceiling: `node:http` alone, answering prebuilt bodies of the size that the real servers send,
// with the same kind of headers. It checks nothing and stores nothing but blobs, which are files:
// `bare-server.js DIRECTORY`.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { BareFiles } from './bare-files.js';
import {
  batchRows,
  bucketCount,
  entityJson,
  partitionKey,
  partitionRows,
  rowKey,
} from './dataset.js';
import { messageText } from './queue-workloads.js';
import { endWithParent, reportPorts } from './child.js';

const [, , directory = ''] = process.argv;

const etag = `W/"datetime'2025-11-21T10%3A00%3A00.1234567Z'"`;

function page(rows: number): Buffer {
  const entities = Array.from({ length: rows }, (_, row) => {
    const entity = entityJson(partitionKey(0), rowKey(row), row).slice(1);
    return `{"odata.etag":${JSON.stringify(etag)},"Timestamp":"2025-11-21T10:00:00.1234567Z",${entity}`;
  });
  return Buffer.from(`{"odata.metadata":"none","value":[${entities.join(',')}]}`);
}

const point = page(1);
const scan = page(partitionRows / bucketCount);
const range = page(batchRows);
const batchAnswer = Buffer.from(
  (
    '--changesetresponse_7cff44c4-6a6e-4be9-840a-bf726d93f891\r\nContent-Type: application/http\r\n' +
    'Content-Transfer-Encoding: binary\r\n\r\nHTTP/1.1 204 No Content\r\n' +
    'X-Content-Type-Options: nosniff\r\nCache-Control: no-cache\r\n' +
    'Preference-Applied: return-no-content\r\nDataServiceVersion: 3.0;\r\n' +
    "Location: http://127.0.0.1:10002/devstoreaccount1/Bench(PartitionKey='b000',RowKey='b0')\r\n" +
    "DataServiceId: http://127.0.0.1:10002/devstoreaccount1/Bench(PartitionKey='b000',RowKey='b0')\r\n" +
    `ETag: ${etag}\r\n\r\n\r\n`
  ).repeat(batchRows),
);

function messages(count: number, text: string): Buffer {
  const message =
    '<QueueMessage><MessageId>5974b586-0df3-4e2d-ad0c-18e3892bfca2</MessageId>' +
    '<InsertionTime>Fri, 21 Nov 2025 10:00:00 GMT</InsertionTime>' +
    '<ExpirationTime>Fri, 28 Nov 2025 10:00:00 GMT</ExpirationTime>' +
    '<PopReceipt>AZhDVqOOcAGAAAAAAAQ2bzkQQkZDeFdzMkVBQkZDeFdzMkUA</PopReceipt>' +
    '<TimeNextVisible>Fri, 21 Nov 2025 10:00:30 GMT</TimeNextVisible>' +
    `${text}</QueueMessage>`;
  const declaration = '<?xml version="1.0" encoding="utf-8"?>';
  const list = `<QueueMessagesList>${message.repeat(count)}</QueueMessagesList>`;
  return Buffer.from(`${declaration}${list}`);
}

const putAnswer = messages(1, '');
const taken = `<DequeueCount>1</DequeueCount><MessageText>${messageText}</MessageText>`;
const oneMessage = messages(1, taken);
const manyMessages = messages(32, taken);

function answer(response: ServerResponse, status: number, type: string, body: Buffer): void {
  response.writeHead(status, {
    'Content-Type': type,
    'Content-Length': body.length,
    'Cache-Control': 'no-cache',
    ETag: etag,
    'X-Content-Type-Options': 'nosniff',
    'x-ms-version': '2019-02-02',
    'x-ms-request-id': '7944c5e8-0002-0079-7bcd-59ca30000000',
  });
  response.end(body);
}

function answerPost(request: IncomingMessage, response: ServerResponse): void {
  const pieces: Buffer[] = [];
  request.on('data', (piece: Buffer) => pieces.push(piece));
  request.on('end', () => {
    Buffer.concat(pieces);
    const isMessage = request.url?.includes('/messages') === true;
    if (isMessage) return answer(response, 201, xml, putAnswer);
    const isBatch = request.url?.endsWith('$batch') === true;
    if (isBatch) answer(response, 202, 'multipart/mixed; boundary=b', batchAnswer);
    else answer(response, 204, 'application/json', Buffer.alloc(0));
  });
}

const xml = 'application/xml';
const json = 'application/json;odata=minimalmetadata;streaming=true;charset=utf-8';
const server = createServer((request, response) => {
  const url = request.url ?? '';
  if (request.method === 'POST' || request.method === 'PATCH') answerPost(request, response);
  else if (request.method === 'DELETE') answer(response, 204, xml, Buffer.alloc(0));
  else if (url.includes('numofmessages=1&')) answer(response, 200, xml, oneMessage);
  else if (url.includes('numofmessages')) answer(response, 200, xml, manyMessages);
  else if (url.includes('Bucket')) answer(response, 200, json, scan);
  else if (url.includes('$filter')) answer(response, 200, json, range);
  else answer(response, 200, json, point);
});

const bareFiles = new BareFiles(directory);
const files = createServer((request, response) => {
  void bareFiles.answer(request, response).catch((error: unknown) => {
    response.destroy(error instanceof Error ? error : undefined);
  });
});

function portOf(listening: Server): number {
  const address = listening.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

server.listen(0, '127.0.0.1', () => {
  files.listen(0, '127.0.0.1', () => {
    reportPorts({ table: portOf(server), queue: portOf(server), blob: portOf(files) });
  });
});
endWithParent(async () => {
  server.closeAllConnections();
  files.closeAllConnections();
});
