import { queueProperties } from '../../wire/xml/service-properties.js';
import { preflight } from '../cors/preflight.js';
import {
  routeTo,
  serviceRouter,
  type RoutedRequest,
  type ServiceRoute,
} from '../operations/route.js';
import { getUserDelegationKey } from '../operations/get-user-delegation-key.js';
import { getServiceProperties, setServiceProperties } from '../operations/service-properties.js';
import { getServiceStats } from '../operations/service-stats.js';
import { getSignedIdentifiers, setSignedIdentifiers } from '../operations/signed-identifiers.js';
import { queuePolicies } from './acl.js';
import { clearMessages } from './clear-messages.js';
import { createQueue } from './create-queue.js';
import { deleteMessage } from './delete-message.js';
import { deleteQueue } from './delete-queue.js';
import { getMessages } from './get-messages.js';
import { getQueueMetadata } from './get-queue-metadata.js';
import { listQueues } from './list-queues.js';
import { peekOnlyOf } from './parameters.js';
import { peekMessages } from './peek-messages.js';
import { putMessage } from './put-message.js';
import type { QueueOperation, QueueRequest } from './request.js';
import { setQueueMetadata } from './set-queue-metadata.js';
import { updateMessage } from './update-message.js';
import { aclVersion, messageVersions, statsVersion } from './versions.js';

export type RoutedQueueRequest = Pick<QueueRequest, 'resource'> & RoutedRequest;
export type QueueRoute = ServiceRoute<RoutedQueueRequest, QueueOperation>;

const messages = { resource: 'messages' } as const;
const message = { resource: 'message' } as const;
const queue = { resource: 'queue' } as const;
const metadata = { resource: 'queue', comp: 'metadata' } as const;
const acl = { resource: 'queue', comp: 'acl', since: aclVersion } as const;
const list = { resource: 'service', comp: 'list' } as const;
const properties = { resource: 'service', restype: 'service', comp: 'properties' } as const;
const stats = {
  resource: 'service',
  restype: 'service',
  comp: 'stats',
  since: statsVersion,
} as const;
const delegationKey = {
  resource: 'service',
  restype: 'service',
  comp: 'userdelegationkey',
} as const;

const peek = { methods: ['GET'], ...messages, when: isPeek };
const update = { methods: ['PUT'], ...message, since: messageVersions.update };
const getAcl = getSignedIdentifiers(queuePolicies);
const setAcl = setSignedIdentifiers(queuePolicies);
const setProperties = setServiceProperties(queueProperties);
const getDelegationKey = getUserDelegationKey('queue');

function isPeek({ query }: RoutedQueueRequest): boolean {
  return peekOnlyOf(query);
}

/** Routed before the others, whatever the path. */
export const queuePreflight: QueueRoute = routeTo(
  'QueuePreflightRequest',
  { methods: ['OPTIONS'], everywhere: true },
  preflight,
);

/**
 * Every operation of the service (queue-service §1.2), the most frequent first. A test
 * compares this table with docs/reference/compatibility.md.
 */
export const queueRoutes: readonly QueueRoute[] = [
  routeTo('PutMessage', { methods: ['POST'], ...messages }, putMessage),
  routeTo('PeekMessages', peek, peekMessages),
  routeTo('GetMessages', { methods: ['GET'], ...messages }, getMessages),
  routeTo('DeleteMessage', { methods: ['DELETE'], ...message }, deleteMessage),
  routeTo('UpdateMessage', update, updateMessage),
  routeTo('ClearMessages', { methods: ['DELETE'], ...messages }, clearMessages),
  routeTo('GetQueueMetadata', { methods: ['GET', 'HEAD'], ...metadata }, getQueueMetadata),
  routeTo('SetQueueMetadata', { methods: ['PUT'], ...metadata }, setQueueMetadata),
  routeTo('CreateQueue', { methods: ['PUT'], ...queue }, createQueue),
  routeTo('DeleteQueue', { methods: ['DELETE'], ...queue }, deleteQueue),
  routeTo('ListQueues', { methods: ['GET'], ...list }, listQueues),
  routeTo('GetQueueACL', { methods: ['GET', 'HEAD'], ...acl }, getAcl),
  routeTo('SetQueueACL', { methods: ['PUT'], ...acl }, setAcl),
  routeTo('GetQueueServiceProperties', { methods: ['GET'], ...properties }, getServiceProperties),
  routeTo('SetQueueServiceProperties', { methods: ['PUT'], ...properties }, setProperties),
  routeTo('GetQueueServiceStats', { methods: ['GET'], ...stats }, getServiceStats),
  routeTo('GetUserDelegationKey', { methods: ['POST'], ...delegationKey }, getDelegationKey),
  queuePreflight,
];

/** The operation names in records; those for one message have their own. */
export const queueOperationNames: readonly string[] = [
  ...queueRoutes.map(({ name }) => name),
  'GetMessage',
  'PeekMessage',
];

export const queueRouter = serviceRouter(queueRoutes);
