import {
  allowedOrigin,
  keyPeriod,
  policies,
  preflight,
  properties,
  setProperties,
  tooManyPolicies,
  tooManyRules,
  tooManyStarts,
} from './hostile-documents.js';
import { filled, type HostileRequest, type PlainRequest } from './hostile-request.js';
import { crowdedPrefix, manyMetadata, messageBody, queueName } from './world.js';

const service = 'queue';
const messages = `/${queueName}/messages`;
/** A body of the largest size for a message whose text is empty. */
const tooManyElements = messageBody(filled(131_000, '', () => '<a/>'));
/** As many elements as a document may have, with comments. */
const manyElements = messageBody('<a/>'.repeat(990) + filled(126_000, '', () => '<!---->'));
const escapes = messageBody('&#38;'.repeat(26_000));
const put: PlainRequest = { service, method: 'POST', path: messages, body: escapes };
const longReceipt = `popreceipt=${'A'.repeat(55_000)}`;
const message = `${messages}/00000000-0000-0000-0000-000000000000?${longReceipt}`;
const longName = 'hostile-'.padEnd(63, 'x');
const create: PlainRequest = { service, method: 'PUT', path: `/${longName}` };
const drop: PlainRequest = { service, method: 'DELETE', path: `/${longName}` };
const letters = 'raup';
const acl = `/${queueName}?comp=acl`;
const setAcl: PlainRequest = { service, method: 'PUT', path: acl, body: policies(letters) };
const propertiesPath = '/?restype=service&comp=properties';
const setRules = setProperties(service, properties);
const delegationPath = '/?restype=service&comp=userdelegationkey';

type Rest = Pick<
  HostileRequest,
  'body' | 'headers' | 'before' | 'secondary' | 'sender' | 'pathFrom'
>;

function plain(
  operation: string,
  what: string,
  method: string,
  path: string,
  rest: Rest = {},
): HostileRequest {
  return { operation, what, service, method, path, ...rest };
}

const manyPuts = Array.from({ length: 32 }, () => put);

/** The path of the message that an answer to Put Message names, with its receipt. */
function messageOf(answer: string): string {
  const text = (name: string): string =>
    new RegExp(`<${name}>([^<]*)<`).exec(answer)?.[1] ?? 'missing';
  return `${messages}/${text('MessageId')}?popreceipt=${encodeURIComponent(text('PopReceipt'))}`;
}

const onMessages: readonly HostileRequest[] = [
  plain('PutMessage', 'most elements', 'POST', messages, { body: manyElements }),
  plain('PutMessage', 'too many elements', 'POST', messages, { body: tooManyElements }),
  plain('PutMessage', 'most escapes', 'POST', messages, { body: escapes }),
  plain('PeekMessages', '32 of 64 KiB', 'GET', `${messages}?peekonly=true&numofmessages=32`),
  plain('GetMessages', '32 of 64 KiB', 'GET', `${messages}?numofmessages=32`, {
    before: manyPuts,
  }),
  plain('DeleteMessage', '64 KiB', 'DELETE', messages, { before: [put], pathFrom: messageOf }),
  plain('DeleteMessage', 'the longest receipt', 'DELETE', message),
  plain('UpdateMessage', 'most elements', 'PUT', messages, {
    body: manyElements,
    before: [put],
    pathFrom: (answer) => `${messageOf(answer)}&visibilitytimeout=1`,
  }),
  plain('UpdateMessage', 'too many elements', 'PUT', `${message}&visibilitytimeout=1`, {
    body: tooManyElements,
  }),
  plain('ClearMessages', 'messages of 2 MiB', 'DELETE', messages, { before: manyPuts }),
];

const onQueues: readonly HostileRequest[] = [
  plain(
    'GetQueueMetadata',
    'most metadata, exposed by rules',
    'GET',
    `/${queueName}?comp=metadata`,
    {
      headers: { Origin: allowedOrigin },
      before: [
        setRules,
        {
          service,
          method: 'PUT',
          path: `/${queueName}?comp=metadata`,
          headers: manyMetadata(3_800),
        },
      ],
    },
  ),
  plain('SetQueueMetadata', 'most metadata', 'PUT', `/${queueName}?comp=metadata`, {
    headers: manyMetadata(3_800),
  }),
  plain('CreateQueue', 'most metadata', 'PUT', `/${longName}`, {
    headers: manyMetadata(3_800),
    before: [drop],
  }),
  plain('DeleteQueue', 'the longest name', 'DELETE', `/${longName}`, { before: [create] }),
  plain('DeleteQueue', 'a name that none can have', 'DELETE', `/${'x'.repeat(50_000)}`),
  plain('ListQueues', '5,000 with metadata', 'GET', '/?comp=list&include=metadata&prefix=q'),
  plain(
    'ListQueues',
    'most entries of metadata',
    'GET',
    `/?comp=list&include=metadata&prefix=${crowdedPrefix}`,
  ),
  plain('GetQueueACL', 'five policies', 'GET', acl, { before: [setAcl] }),
  plain('SetQueueACL', 'five policies in 64 KiB', 'PUT', acl, { body: policies(letters) }),
  plain('SetQueueACL', 'most policies', 'PUT', acl, { body: tooManyPolicies }),
];

const onService: readonly HostileRequest[] = [
  plain('GetQueueServiceProperties', 'most rules', 'GET', propertiesPath, { before: [setRules] }),
  plain('SetQueueServiceProperties', 'most rules in 64 KiB', 'PUT', propertiesPath, {
    body: properties,
  }),
  plain('SetQueueServiceProperties', 'most elements', 'PUT', propertiesPath, {
    body: tooManyRules,
  }),
  plain('GetQueueServiceStats', 'one', 'GET', '/?restype=service&comp=stats', { secondary: true }),
  plain('GetUserDelegationKey', 'a period in 64 KiB', 'POST', delegationPath, {
    sender: 'bearer',
    body: keyPeriod(),
  }),
  plain('GetUserDelegationKey', 'most elements', 'POST', delegationPath, {
    sender: 'bearer',
    body: tooManyStarts,
  }),
  {
    operation: 'QueuePreflightRequest',
    what: 'most headers asked for',
    ...preflight(service, 'x'),
    before: [setRules],
  },
];

/** The most hostile requests known of each operation of queues. */
export const hostileQueueRequests: readonly HostileRequest[] = [
  ...onMessages,
  ...onQueues,
  ...onService,
];
