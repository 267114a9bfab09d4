import { formatBlobMarker, formatFindMarker } from '../../src/wire/blobs/list-marker.js';
import type { SimRandom } from '../support/sim-random.js';
import type { WireRequest } from '../wire/kit/signing-client.js';
import { keyInfoXml, policiesXml, propertiesXml } from './documents.js';
import { mutatedXml } from './queue-mutations.js';
import { sayable, spliced } from './splice.js';

/** A request to the blob service in parts that can be changed. */
export interface BlobFuzzRequest {
  readonly method: string;
  /** Without the account. */
  readonly path: string;
  readonly query: readonly (readonly [name: string, value: string])[];
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

export const fuzzContainers: readonly string[] = ['fuzz-a', 'fuzz-b'];
const names = ['block', 'append', 'page', 'dir/a b', 'ž%', 'nowhere'];
const lease = '0a000000-0000-4000-8000-00000000000a';
const blockTypes = ['BlockBlob', 'BlockBlob', 'AppendBlob', 'PageBlob'] as const;
const bodies = ['', 'text', 'x'.repeat(512), 'y'.repeat(40_000)];
const leaseActions = ['acquire', 'renew', 'change', 'release', 'break'];
const comps = ['metadata', 'tags', 'blocklist', 'pagelist', ''];
const tagsXml = '<Tags><TagSet><Tag><Key>k</Key><Value>v</Value></Tag></TagSet></Tags>';
const listXml = '<BlockList><Latest>AAAA</Latest><Uncommitted>AAAB</Uncommitted></BlockList>';

type Parts = Omit<BlobFuzzRequest, 'path'> & { readonly path?: string };

/** A valid request, mostly. `source`: the URL of the account. */
export function soundBlobRequest(random: SimRandom, source: string): BlobFuzzRequest {
  const container = `/${random.pick(fuzzContainers)}`;
  const path = `${container}/${random.pick(names).split('/').map(encodeURIComponent).join('/')}`;
  const parts = partsOf(random, `${source}${container}/${random.pick(names)}`, container);
  return { ...parts, path: parts.path ?? path };
}

function partsOf(random: SimRandom, copied: string, container: string): Parts {
  const put = { method: 'PUT', query: [], headers: {} } as const;
  const copy = { 'x-ms-copy-source': encodeURI(copied) };
  const kind = random.weighted({
    create: 6,
    read: 8,
    block: 3,
    list: 2,
    grow: 6,
    copy: 4,
    change: 6,
    keep: 3,
    lease: 4,
    remove: 2,
    container: 4,
    search: 3,
    batch: 2,
    service: 2,
  });
  switch (kind) {
    case 'create': {
      const type = random.pick(blockTypes);
      const size = type === 'PageBlob' ? { 'x-ms-blob-content-length': '2048' } : {};
      const headers = { 'x-ms-blob-type': type, 'x-ms-tags': 'k=v', ...size };
      return type === 'BlockBlob'
        ? { ...put, headers, body: random.pick(bodies) }
        : { ...put, headers };
    }
    case 'read': {
      const comp = random.pick(comps);
      const range = random.pick(['bytes=0-5', 'bytes=1-', 'bytes=0-99999']);
      const headers = random.chance(0.4) ? { Range: range } : {};
      const query = comp === '' ? [] : [['comp', comp] as const];
      return { method: random.pick(['GET', 'HEAD']), query, headers };
    }
    case 'block': {
      const query = [
        ['comp', 'block'] as const,
        ['blockid', random.pick(['AAAA', 'AAAB'])] as const,
      ];
      return { ...put, query, body: random.pick(bodies) };
    }
    case 'list':
      return { ...put, query: [['comp', 'blocklist']], body: listXml };
    case 'grow':
      return growth(random);
    case 'copy': {
      const type = random.chance(0.5) ? {} : { 'x-ms-requires-sync': 'true' };
      const headers = random.chance(0.3) ? { ...copy, 'x-ms-blob-type': 'BlockBlob' } : copy;
      return { ...put, headers: { ...headers, ...type } };
    }
    case 'change':
      return change(random);
    case 'keep':
      return keep(random);
    case 'lease': {
      const headers = {
        'x-ms-lease-action': random.pick(leaseActions),
        'x-ms-lease-duration': random.pick(['-1', '15']),
        'x-ms-lease-id': lease,
        'x-ms-proposed-lease-id': lease,
      };
      const ofContainer = random.chance(0.3);
      const query = [['comp', 'lease'] as const];
      if (!ofContainer) return { ...put, query, headers };
      return { ...put, path: container, query: [...query, ['restype', 'container']], headers };
    }
    case 'remove':
      return { method: 'DELETE', query: [], headers: { 'x-ms-delete-snapshots': 'include' } };
    case 'container':
      return ofContainer(random, container);
    case 'search':
      return search(random, container);
    case 'batch':
      return batch(container);
    default:
      return ofService(random);
  }
}

function growth(random: SimRandom): Parts {
  const comp = random.pick(['appendblock', 'page', 'seal']);
  const query = [['comp', comp] as const];
  if (comp === 'seal') return { method: 'PUT', query, headers: {} };
  if (comp === 'appendblock') return { method: 'PUT', query, headers: {}, body: 'line' };
  const headers = { 'x-ms-page-write': 'update', 'x-ms-range': 'bytes=512-1023' };
  return { method: 'PUT', query, headers, body: 'x'.repeat(512) };
}

function change(random: SimRandom): Parts {
  const comp = random.pick(['metadata', 'properties', 'tags', 'tier', 'snapshot']);
  const put = { method: 'PUT', query: [['comp', comp] as const] };
  switch (comp) {
    case 'tags':
      return { ...put, headers: {}, body: tagsXml };
    case 'tier':
      return { ...put, headers: { 'x-ms-access-tier': random.pick(['Hot', 'Cool', 'P4']) } };
    case 'properties':
      return { ...put, headers: { 'x-ms-blob-content-type': 'text/plain' } };
    default:
      return { ...put, headers: { 'x-ms-meta-a': 'b' } };
  }
}

function keep(random: SimRandom): Parts {
  const until = new Date(Date.now() + random.pick([2_000, 3_600_000])).toUTCString();
  const policy = {
    'x-ms-immutability-policy-until-date': until,
    'x-ms-immutability-policy-mode': random.pick(['Unlocked', 'Unlocked', 'Locked']),
  };
  const hold = { 'x-ms-legal-hold': random.pick(['true', 'false', 'false']) };
  const ofPolicy = [['comp', 'immutabilityPolicies'] as const];
  switch (random.pick(['write', 'policy', 'no policy', 'hold'])) {
    case 'write':
      return {
        method: 'PUT',
        query: [],
        headers: { 'x-ms-blob-type': 'BlockBlob', ...policy, ...hold },
        body: random.pick(bodies),
      };
    case 'policy':
      return { method: 'PUT', query: ofPolicy, headers: policy };
    case 'no policy':
      return { method: 'DELETE', query: ofPolicy, headers: {} };
    default:
      return { method: 'PUT', query: [['comp', 'legalhold']], headers: hold };
  }
}

function ofContainer(random: SimRandom, path: string): Parts {
  const restype = ['restype', 'container'] as const;
  const comp = random.pick(['', 'metadata', 'acl', 'list', 'list']);
  const query = comp === '' ? [restype] : [restype, ['comp', comp] as const];
  const isWrite = comp !== 'list' && random.chance(0.4);
  if (!isWrite) {
    const more = comp === 'list' ? listOptions(random) : [];
    return { method: 'GET', path, query: [...query, ...more], headers: {} };
  }
  const write = { method: 'PUT', path, query, headers: {} };
  return comp === 'acl' ? { ...write, body: policiesXml('racwdl') } : write;
}

function listOptions(random: SimRandom): BlobFuzzRequest['query'] {
  const grouped = [['prefix', 'd'] as const, ['delimiter', '/'] as const];
  return [
    ...(random.chance(0.5) ? grouped : []),
    ...(random.chance(0.4) ? [strangeMarker(random)] : []),
  ];
}

/** Of pages that no list ends with. The longer name is none that a blob can have. */
const strangeMarkers = ['d'.repeat(1_024), 'd'.repeat(5_000)].flatMap((name) => [
  formatBlobMarker({ name, fromMicros: 5 }),
  formatFindMarker({ container: 'fuzz-a', value: 'v', name, fromMicros: 5 }),
]);

function strangeMarker(random: SimRandom): readonly [name: string, value: string] {
  return ['marker', random.pick(strangeMarkers)];
}

function search(random: SimRandom, container: string): Parts {
  const where = random.pick([`"k" = 'v'`, `@container = 'fuzz-a' AND "k" >= 'a'`]);
  const from = random.chance(0.3) ? [strangeMarker(random)] : [];
  const query = [['comp', 'blobs'] as const, ['where', where] as const, ...from];
  if (random.chance(0.5)) return { method: 'GET', path: '/', query, headers: {} };
  return {
    method: 'GET',
    path: container,
    query: [...query, ['restype', 'container']],
    headers: {},
  };
}

function batch(container: string): Parts {
  const part =
    '--b\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n' +
    `DELETE /devstoreaccount1${container}/block HTTP/1.1\r\nContent-Length: 0\r\n\r\n\r\n`;
  const headers = { 'Content-Type': 'multipart/mixed; boundary=b' };
  return {
    method: 'POST',
    path: '/',
    query: [['comp', 'batch']],
    headers,
    body: `${part}--b--\r\n`,
  };
}

function ofService(random: SimRandom): Parts {
  const restype = ['restype', 'service'] as const;
  const of = (comp: string) => [restype, ['comp', comp] as const];
  switch (random.pick(['list', 'properties', 'key', 'account'])) {
    case 'list':
      return { method: 'GET', path: '/', query: [['comp', 'list']], headers: {} };
    case 'properties':
      return random.chance(0.5)
        ? { method: 'GET', path: '/', query: of('properties'), headers: {} }
        : { method: 'PUT', path: '/', query: of('properties'), headers: {}, body: propertiesXml() };
    case 'key': {
      const body = keyInfoXml(new Date(Date.now() + 3_600_000).toISOString());
      return { method: 'POST', path: '/', query: of('userdelegationkey'), headers: {}, body };
    }
    default: {
      const query = [['restype', 'account'] as const, ['comp', 'properties'] as const];
      return { method: 'GET', path: '/', query, headers: {} };
    }
  }
}

const tokens =
  ',-1,0,1,511,512,99999999999999999999,1e9,NaN,true,false,*,bytes=,bytes=5-2,bytes=-5,bytes=0-0,"0x8D"'.split(
    ',',
  );
const strange = [
  '',
  ' ',
  '%',
  '%2F',
  '%00',
  '..',
  '//',
  '\\',
  '\u0000',
  'é',
  '\u{1F642}',
  '=',
  '&',
  "'",
  '"',
];
const headerNames =
  'If-Match If-None-Match If-Modified-Since If-Unmodified-Since x-ms-if-tags Range x-ms-range Content-MD5 x-ms-content-crc64 Content-Type x-ms-blob-type x-ms-blob-content-length x-ms-blob-sequence-number x-ms-sequence-number-action x-ms-access-tier x-ms-tags x-ms-copy-source x-ms-source-range x-ms-source-if-match x-ms-source-content-md5 x-ms-lease-id x-ms-lease-action x-ms-lease-duration x-ms-lease-break-period x-ms-proposed-lease-id x-ms-delete-snapshots x-ms-page-write x-ms-blob-condition-appendpos x-ms-blob-condition-maxsize x-ms-if-sequence-number-eq x-ms-range-get-content-md5 x-ms-range-get-content-crc64 x-ms-version x-ms-meta-a x-ms-blob-public-access x-ms-copy-source-tag-option x-ms-rehydrate-priority x-ms-immutability-policy-until-date x-ms-immutability-policy-mode x-ms-legal-hold Origin'.split(
    ' ',
  );
const optionNames =
  'comp restype snapshot versionid prevsnapshot blockid blocklisttype copyid prefix delimiter marker maxresults include where timeout sig'.split(
    ' ',
  );
const optionValues = [
  ...tokens,
  ...comps,
  'all',
  'copy',
  'undelete',
  'query',
  'container',
  'service',
  'blobs',
  '2026-01-01T00:00:00.0000000Z',
  'snapshots,metadata,uncommittedblobs,copy,deleted,tags,versions',
  `"k" = 'v' AND`,
  '((',
];

/** A request with a change or a few. */
export function mutatedBlobRequest(random: SimRandom, source: string): BlobFuzzRequest {
  let request = soundBlobRequest(random, source);
  for (let changes = random.between(0, 3); changes > 0; changes -= 1) {
    request = changed(random, request);
  }
  return request;
}

function changed(random: SimRandom, request: BlobFuzzRequest): BlobFuzzRequest {
  const { headers, query, path, body } = request;
  const all = [...tokens, ...strange];
  const kind = random.weighted({
    header: 8,
    drop: 2,
    option: 5,
    omit: 2,
    path: 2,
    method: 1,
    body: 4,
  });
  switch (kind) {
    case 'header': {
      const name = random.pick(
        random.chance(0.3) ? Object.keys(headers).concat('Range') : headerNames,
      );
      const value = random.chance(0.5)
        ? random.pick(all)
        : spliced(random, headers[name] ?? '', all);
      return { ...request, headers: { ...headers, [name]: inHeader(value) } };
    }
    case 'drop': {
      const name = random.pick(Object.keys(headers).concat(''));
      return {
        ...request,
        headers: Object.fromEntries(Object.entries(headers).filter(([each]) => each !== name)),
      };
    }
    case 'option':
      return {
        ...request,
        query: [...query, [random.pick(optionNames), random.pick(optionValues)]],
      };
    case 'omit':
      return { ...request, query: query.filter(() => random.chance(0.5)) };
    case 'path':
      return { ...request, path: `/${spliced(random, path, all)}` };
    case 'method':
      return {
        ...request,
        method: random.pick(['GET', 'PUT', 'POST', 'DELETE', 'HEAD', 'PATCH', 'OPTIONS']),
      };
    default:
      if (body === undefined) return { ...request, body: 'unexpected' };
      return {
        ...request,
        body: body.startsWith('<') ? mutatedXml(random, body) : spliced(random, body, all),
      };
  }
}

/** Line breaks would end the header; other tests send them. */
function inHeader(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, '?').trim();
}

/** The request as a client sends it. */
export function sendableRequest({
  method,
  path,
  query,
  headers,
  body,
}: BlobFuzzRequest): WireRequest {
  const options = query.map(([name, value]) => `${name}=${encodeURIComponent(sayable(value))}`);
  const search = options.length === 0 ? '' : `?${options.join('&')}`;
  const plain = path.replaceAll(/[\s\p{Cc}?#]|[^\p{ASCII}]/gu, (each) =>
    encodeURIComponent(sayable(each)),
  );
  return {
    method,
    path: `${plain.slice(0, 8_000)}${search}`,
    headers,
    ...(body === undefined ? {} : { body }),
  };
}
