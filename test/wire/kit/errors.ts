import assert from 'node:assert/strict';
import { childrenOf, insideOf } from './queue-xml.js';
import type { WireResponse } from './response.js';

const namespace = 'http://schemas.microsoft.com/ado/2007/08/dataservices/metadata';
const guid = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}';
const time = '\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{7}Z';

/** The expected error. Without `message` any text is accepted, but there must be one. */
export interface ExpectedError {
  readonly status: number;
  readonly code: string;
  readonly message?: string;
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** The message of an error without request id and time, after checking these. */
function unstamped(text: string, requestId: string): string {
  const match = new RegExp(`^([^]*)\nRequestId:(${guid})\nTime:${time}$`).exec(text);
  assert.ok(match, `no message, request id and time in: ${text}`);
  assert.equal(match[2], requestId, 'the body names the request id of the header');
  return match[1] ?? '';
}

function checkMessage(actual: string, expected: ExpectedError): void {
  if (expected.message === undefined) assert.notEqual(actual, '');
  else assert.equal(actual, expected.message);
}

function checkStatus(response: WireResponse, expected: ExpectedError): void {
  const seen = `${response.status} ${response.text.slice(0, 400)}`;
  assert.equal(response.status, expected.status, `expected ${expected.code}, got ${seen}`);
}

/** Checks the status and, if given, the error code in the header. */
export function assertStatus(response: WireResponse, status: number, code?: string): void {
  assert.equal(response.status, status, response.text);
  if (code !== undefined) assert.equal(response.header('x-ms-error-code'), code);
}

/** Shape (a) of table-service §3.1: OData JSON. */
export function assertJsonError(
  response: WireResponse,
  expected: ExpectedError,
  level = 'minimalmetadata',
): void {
  checkStatus(response, expected);
  assert.equal(
    response.header('content-type'),
    `application/json;odata=${level};streaming=true;charset=utf-8`,
    response.text,
  );
  assert.equal(response.header('x-content-type-options'), 'nosniff');
  const error = response.json['odata.error'] as {
    readonly code: string;
    readonly message: { readonly lang: string; readonly value: string };
  };
  assert.deepEqual(Object.keys(response.json), ['odata.error']);
  assert.equal(error.code, expected.code, response.text);
  assert.equal(response.header('x-ms-error-code') ?? expected.code, expected.code);
  assert.equal(error.message.lang, 'en-US');
  checkMessage(unstamped(error.message.value, response.header('x-ms-request-id') ?? ''), expected);
  const compact = `{"odata.error":{"code":"${error.code}","message":{"lang":"en-US","value":"`;
  assert.ok(response.text.startsWith(compact), `not compact: ${response.text}`);
}

/** Shape (b) of table-service §3.1: front-door XML. */
export function assertFrontDoorError(response: WireResponse, expected: ExpectedError): void {
  checkStatus(response, expected);
  assert.equal(response.header('content-type'), 'application/xml');
  assert.equal(response.header('x-ms-error-code'), expected.code);
  assert.equal(response.header('content-length'), String(response.body.length));
  assert.equal(response.header('cache-control'), undefined);
  assert.equal(response.header('x-content-type-options'), undefined);
  const open =
    `<?xml version="1.0" encoding="utf-8"?><m:error xmlns:m="${namespace}">` +
    `<m:code>${expected.code}</m:code><m:message xml:lang="en-US">`;
  const close = '</m:message></m:error>';
  checkXml(response, expected, open, close);
}

/** Shape (c) of table-service §3.1: OData XML. */
export function assertXmlError(response: WireResponse, expected: ExpectedError): void {
  checkStatus(response, expected);
  assert.equal(response.header('content-type'), 'application/xml;charset=utf-8');
  const open =
    `<?xml version="1.0" encoding="utf-8"?><error xmlns="${namespace}">` +
    `<code>${expected.code}</code><message xml:lang="en-US">`;
  checkXml(response, expected, open, '</message></error>');
}

export interface ExpectedQueueError extends ExpectedError {
  /** The elements after `Message`, in order. Without it any are accepted. */
  readonly details?: readonly (readonly [name: string, value: string])[];
}

/** Checks the one error form of the queue service (queue-service §3.3). Returns the details. */
export function assertQueueError(
  response: WireResponse,
  expected: ExpectedQueueError,
): (readonly [name: string, value: string])[] {
  checkStatus(response, expected);
  assert.equal(response.header('content-type'), 'application/xml', response.text);
  assert.equal(response.header('x-ms-error-code'), expected.code, response.text);
  const [code, message, ...details] = childrenOf(insideOf(response.text, 'Error'));
  assert.deepEqual(code, ['Code', expected.code]);
  assert.equal(message?.[0], 'Message');
  const text = unstamped(message?.[1] ?? '', response.header('x-ms-request-id') ?? '');
  checkMessage(text, expected);
  assert.equal(response.reason, text, 'the reason phrase is the text');
  if (expected.details !== undefined) assert.deepEqual(details, expected.details);
  return details;
}

function checkXml(
  response: WireResponse,
  expected: ExpectedError,
  open: string,
  close: string,
): void {
  const text = response.text.replace(/^\uFEFF/, '');
  assert.ok(text.startsWith(open), `expected ${open} at the start of ${text}`);
  assert.ok(text.endsWith(close), `expected ${close} at the end of ${text}`);
  const inner = text.slice(open.length, text.length - close.length);
  const message = unstamped(inner, response.header('x-ms-request-id') ?? '');
  checkMessage(message, {
    ...expected,
    ...(expected.message === undefined ? {} : { message: escapeXml(expected.message) }),
  });
}

function refusal<Code extends string>(status: number, code: Code, message: string) {
  return { status, code, message } as const;
}

/** Errors of table-service §3.2 that several tests need. */
export const refusals = {
  authenticationFailed: refusal(
    403,
    'AuthenticationFailed',
    'Server failed to authenticate the request. Make sure the value of Authorization header is formed correctly including the signature.',
  ),
  bodyNotParseable: refusal(
    400,
    'InvalidInput',
    'An error occurred while processing this request.',
  ),
  duplicateRow: refusal(
    400,
    'InvalidDuplicateRow',
    'The batch request contains multiple changes with same row key. An entity can appear only once in a batch request.',
  ),
  entityExists: refusal(409, 'EntityAlreadyExists', 'The specified entity already exists.'),
  entityTooLarge: refusal(
    400,
    'EntityTooLarge',
    'The entity is larger than the maximum allowed size (1MB).',
  ),
  inputInvalid: refusal(400, 'InvalidInput', 'One of the request inputs is not valid.'),
  nameLength: refusal(
    400,
    'OutOfRangeInput',
    'The specified resource name length is not within the permissible limits.',
  ),
  nameCharacters: refusal(
    400,
    'InvalidResourceName',
    'The specifed resource name contains invalid characters.',
  ),
  notImplemented: refusal(
    501,
    'NotImplemented',
    'The requested operation is not implemented on the specified resource.',
  ),
  otherPartition: refusal(
    400,
    'CommandsInBatchActOnDifferentPartitions',
    'All commands in a batch must operate on same entity group.',
  ),
  propertiesNeedValue: refusal(
    400,
    'PropertiesNeedValue',
    'The values are not specified for all properties in the entity.',
  ),
  propertyNameInvalid: refusal(400, 'PropertyNameInvalid', 'The property name is invalid.'),
  propertyNameTooLong: refusal(
    400,
    'PropertyNameTooLong',
    'The property name exceeds the maximum allowed length (255).',
  ),
  querySyntax: refusal(400, 'InvalidInput', 'Bad Request - Error in query syntax.'),
  resourceNotFound: refusal(404, 'ResourceNotFound', 'The specified resource does not exist.'),
  tableExists: refusal(409, 'TableAlreadyExists', 'The table specified already exists.'),
  tableNotFound: refusal(404, 'TableNotFound', 'The table specified does not exist.'),
  tooLargeBody: refusal(
    413,
    'RequestBodyTooLarge',
    'The request body is too large and exceeds the maximum permissible limit.',
  ),
  tooManyOperations: refusal(
    400,
    'InvalidInput',
    'The batch request operation exceeds the maximum 100 changes per change set.',
  ),
  tooManyProperties: refusal(
    400,
    'TooManyProperties',
    'The entity contains more properties than allowed. Each entity can include up to 252 properties to store data. Each entity also has 3 system properties.',
  ),
  updateCondition: refusal(
    412,
    'UpdateConditionNotSatisfied',
    'The update condition specified in the request was not satisfied.',
  ),
  valueTooLarge: refusal(
    400,
    'PropertyValueTooLarge',
    'The property value exceeds the maximum allowed size (64KB). If the property value is a string, it is UTF-16 encoded and the maximum number of characters should be 32K or less.',
  ),
} as const;

/** The error of a changeset whose operation at this index, from 0, fails. */
export function refusedAt<Refusal extends ExpectedError>(index: number, expected: Refusal) {
  return { ...expected, message: `${index}:${expected.message}` };
}
