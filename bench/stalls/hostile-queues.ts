import { filled, type HostileRequest, type PlainRequest } from './hostile-request.js';
import { hostilePolicies, hostileProperties } from './hostile-tables.js';
import { manyMetadata, messageBody, queueName } from './world.js';

const service = 'queue';
const messages = `/${queueName}/messages`;
/** The most that a body of a message may be, nothing of which is the text itself. */
const manyElements = messageBody(filled(131_000, '', () => '<a/>'));
const escapes = messageBody('&#38;'.repeat(26_000));
const put: PlainRequest = { service, method: 'POST', path: messages, body: escapes };
const longReceipt = `popreceipt=${'A'.repeat(55_000)}`;
const message = `${messages}/00000000-0000-0000-0000-000000000000?${longReceipt}`;

function plain(
  operation: string,
  what: string,
  method: string,
  path: string,
  rest: Pick<HostileRequest, 'body' | 'headers' | 'before'> = {},
): HostileRequest {
  return { operation, what, service, method, path, ...rest };
}

const manyPuts = Array.from({ length: 32 }, () => put);

/** The most hostile requests known of each operation of queues. */
export const hostileQueueRequests: readonly HostileRequest[] = [
  plain('PutMessage', 'most elements', 'POST', messages, { body: manyElements }),
  plain('PutMessage', 'most escapes', 'POST', messages, { body: escapes }),
  plain('PeekMessages', '32 of 64 KiB', 'GET', `${messages}?peekonly=true&numofmessages=32`),
  plain('GetMessages', '32 of 64 KiB', 'GET', `${messages}?numofmessages=32`, {
    before: manyPuts,
  }),
  plain('DeleteMessage', 'the longest receipt', 'DELETE', message),
  plain('UpdateMessage', 'most elements', 'PUT', `${message}&visibilitytimeout=1`, {
    body: manyElements,
  }),
  plain('ClearMessages', 'messages of 2 MiB', 'DELETE', messages, { before: manyPuts }),
  plain('GetQueueMetadata', 'one', 'GET', `/${queueName}?comp=metadata`),
  plain('SetQueueMetadata', 'most metadata', 'PUT', `/${queueName}?comp=metadata`, {
    headers: manyMetadata(3_800),
  }),
  plain('CreateQueue', 'most metadata', 'PUT', '/hostile', { headers: manyMetadata(3_800) }),
  plain('DeleteQueue', 'the longest name', 'DELETE', `/${'x'.repeat(50_000)}`),
  plain('ListQueues', '5,000 with metadata', 'GET', '/?comp=list&include=metadata'),
  plain('GetQueueACL', 'one', 'GET', `/${queueName}?comp=acl`),
  plain('SetQueueACL', 'most policies', 'PUT', `/${queueName}?comp=acl`, {
    body: hostilePolicies,
  }),
  plain('GetQueueServiceProperties', 'one', 'GET', '/?restype=service&comp=properties'),
  plain('SetQueueServiceProperties', 'most rules', 'PUT', '/?restype=service&comp=properties', {
    body: hostileProperties,
  }),
  plain('GetQueueServiceStats', 'one', 'GET', '/?restype=service&comp=stats'),
  plain(
    'GetUserDelegationKey',
    'most elements',
    'POST',
    '/?restype=service&comp=userdelegationkey',
    { body: `<KeyInfo>${filled(60_000, '', () => '<Start/>')}</KeyInfo>` },
  ),
  plain('QueuePreflightRequest', 'most headers asked for', 'OPTIONS', `/${queueName}`, {
    headers: {
      Origin: 'https://stalls.example',
      'Access-Control-Request-Method': 'GET',
      'Access-Control-Request-Headers': filled(55_000, ',', (place) => `h${place}`),
    },
  }),
];
