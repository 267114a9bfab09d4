import type { SimRandom } from '../support/sim-random.js';
import { messageBody } from '../wire/kit/queue-client.js';
import { keyInfoXml, policiesXml, propertiesXml } from './documents.js';
import type { FuzzRequest } from './requests.js';

export const fuzzQueues: readonly string[] = ['fuzz-a', 'fuzz-b', 'fuzz-c'];

const service = 'queue';
const xml = { 'Content-Type': 'application/xml' };
const texts = ['x', '', '<a>&amp;</a>', 'příliš 😀', ' \t\r\n ', 'x'.repeat(5000), 'eyJhIjoxfQ=='];
const ids = ['018df9e2-b200-7000-8000-0551be9e6de4', '5974b586-0df3-4e2d-ad0c-18e3892bfca2', '42'];
const receipts = [
  'AQGN-eKyAHAAgAAFUb6ebeRDGEpgdh1AAEMYSmB2HUAM',
  'AgAAAAEAAAApAAAAGIw6Q29bzAE=',
  'x',
];
/** A valid queue request. */
export function soundQueueRequest(random: SimRandom, queues = fuzzQueues): FuzzRequest {
  const path = `/${random.pick(queues)}`;
  const request = {
    service,
    method: 'GET',
    path,
    query: [],
    headers: {},
    body: undefined,
  } as const;
  const messages = `${path}/messages`;
  const message = `${messages}/${random.pick(ids)}`;
  const body = messageBody(random.pick(texts));
  const receipt: [string, string] = ['popreceipt', random.pick(receipts)];
  switch (
    random.weighted({
      create: 4,
      drop: 1,
      list: 3,
      metadata: 4,
      acl: 3,
      put: 12,
      get: 8,
      peek: 6,
      update: 5,
      remove: 4,
      clear: 1,
      properties: 3,
      key: 1,
    })
  ) {
    case 'create':
      return { ...request, method: 'PUT', headers: metadataOf(random) };
    case 'drop':
      return { ...request, method: 'DELETE' };
    case 'list':
      return { ...request, path: '/', query: [['comp', 'list'], ...listOptions(random)] };
    case 'metadata': {
      const method = random.pick(['GET', 'HEAD', 'PUT']);
      const headers = method === 'PUT' ? metadataOf(random) : {};
      return { ...request, method, query: [['comp', 'metadata']], headers };
    }
    case 'acl':
      return withBody(random, { ...request, query: [['comp', 'acl']] }, policiesXml('raup'));
    case 'put': {
      const query = options(random, { visibilitytimeout: '0', messagettl: '60', timeout: '30' });
      return { ...request, method: 'POST', path: messages, query, headers: xml, body };
    }
    case 'get': {
      const query = options(random, { numofmessages: '32', visibilitytimeout: '1' });
      return { ...request, path: messages, query };
    }
    case 'peek': {
      const query = options(random, { numofmessages: '5', timeout: '30' });
      return { ...request, path: messages, query: [['peekonly', 'true'], ...query] };
    }
    case 'update': {
      const query = [receipt, ['visibilitytimeout', '5'] as const];
      return { ...request, method: 'PUT', path: message, query, headers: xml, body };
    }
    case 'remove':
      return { ...request, method: 'DELETE', path: message, query: [receipt] };
    case 'clear':
      return { ...request, method: 'DELETE', path: messages };
    case 'key': {
      const query = [['restype', 'service'] as const, ['comp', 'userdelegationkey'] as const];
      const expiry = new Date(Date.now() + 3_600_000).toISOString();
      const key = { ...request, method: 'POST', path: '/', query };
      return { ...key, headers: xml, body: keyInfoXml(expiry) };
    }
    default: {
      const query = [['restype', 'service'] as const, ['comp', 'properties'] as const];
      return withBody(random, { ...request, path: '/', query }, propertiesXml());
    }
  }
}

/** Half of the time a read, otherwise a write with this body. */
function withBody(random: SimRandom, request: FuzzRequest, body: string): FuzzRequest {
  return random.chance(0.5) ? request : { ...request, method: 'PUT', headers: xml, body };
}

function metadataOf(random: SimRandom): Record<string, string> {
  return random.chance(0.7) ? {} : { 'x-ms-meta-Name': random.pick(['value', '', 'a b']) };
}

function options(random: SimRandom, all: Readonly<Record<string, string>>): [string, string][] {
  return Object.entries(all).filter(() => random.chance(0.4));
}

function listOptions(random: SimRandom): [string, string][] {
  const marker = '/devstoreaccount1/fuzz-b';
  return options(random, { prefix: 'fuzz', maxresults: '2', marker, include: 'metadata' });
}
