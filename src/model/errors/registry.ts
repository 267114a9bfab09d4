import { blobErrors } from './blob-codes.js';
import {
  format,
  frontDoor,
  operation,
  storage,
  storageXml,
  validation,
  type ErrorDefinition,
} from './definition.js';

/**
 * Every code that the server answers, with its status and message (table-service §3.2,
 * queue-service §11, blob-service §20). Services word a code alike; only the shape of the body
 * differs. The only place where codes are found; `docs/reference/errors.md` lists the same set,
 * checked by a test.
 */
export const errorRegistry = {
  ...blobErrors,
  AccountIsDisabled: frontDoor(403, 'The specified account is disabled.'),
  AtomFormatNotSupported: format(415, 'Atom format is not supported.'),
  AuthenticationFailed: frontDoor(
    403,
    'Server failed to authenticate the request. Make sure the value of Authorization header is formed correctly including the signature.',
  ),
  AuthorizationFailure: operation(403, 'This request is not authorized to perform this operation.'),
  AuthorizationPermissionMismatch: operation(
    403,
    'This request is not authorized to perform this operation using this permission.',
  ),
  AuthorizationProtocolMismatch: validation(
    403,
    'This request is not authorized to perform this operation using this protocol.',
  ),
  AuthorizationResourceTypeMismatch: validation(
    403,
    'This request is not authorized to perform this operation using this resource type.',
  ),
  AuthorizationServiceMismatch: validation(
    403,
    'This request is not authorized to perform this operation using this service.',
  ),
  AuthorizationSourceIPMismatch: validation(
    403,
    'This request is not authorized to perform this operation using this source IP.',
  ),
  CommandsInBatchActOnDifferentPartitions: operation(
    400,
    'All commands in a batch must operate on same entity group.',
  ),
  CorsPreflightFailure: frontDoor(
    403,
    'CORS not enabled or no matching rule found for this request.',
  ),
  DuplicatePropertiesSpecified: operation(400, 'A property is specified more than one time.'),
  EmptyMetadataKey: storageXml(400, 'The key for one of the metadata key-value pairs is empty.'),
  EntityAlreadyExists: storage(409, 'The specified entity already exists.'),
  EntityTooLarge: storage(400, 'The entity is larger than the maximum allowed size (1MB).'),
  HostInformationNotPresent: frontDoor(
    400,
    'The required host information is not present in the request. You must send a non-empty Host header or include the absolute URI in the request line.',
  ),
  InsufficientAccountPermissions: frontDoor(
    403,
    'The account being accessed does not have sufficient permissions to execute this operation.',
  ),
  InternalError: validation(
    500,
    'Server encountered an internal error. Please try again after some time.',
  ),
  InvalidAuthenticationInfo: frontDoor(
    400,
    'Authentication information is not given in the correct format. Check the value of Authorization header.',
  ),
  InvalidDuplicateRow: operation(
    400,
    'The batch request contains multiple changes with same row key. An entity can appear only once in a batch request.',
  ),
  InvalidHeaderValue: frontDoor(
    400,
    'The value for one of the HTTP headers is not in the correct format.',
  ),
  InvalidInput: validation(400, 'One of the request inputs is not valid.'),
  InvalidMarker: storageXml(400, 'The specified marker is invalid.'),
  InvalidMd5: storageXml(
    400,
    'The MD5 value specified in the request is invalid. MD5 value must be 128 bits and base64 encoded.',
  ),
  InvalidMetadata: storageXml(
    400,
    'The metadata specified is invalid. It has characters that are not permitted.',
  ),
  InvalidQueryParameterValue: frontDoor(
    400,
    'Value for one of the query parameters specified in the request URI is invalid.',
  ),
  InvalidResourceName: validation(400, 'The specifed resource name contains invalid characters.'),
  InvalidUri: storageXml(400, 'The requested URI does not represent any resource on the server.'),
  InvalidXmlDocument: frontDoor(400, 'XML specified is not syntactically valid.'),
  InvalidXmlNodeValue: frontDoor(
    400,
    'The value for one of the XML nodes is not in the correct format.',
  ),
  JsonFormatNotSupported: format(415, 'JSON format is not supported.'),
  JsonVerboseFormatNotSupported: format(415, 'JSON verbose format is not supported.'),
  Md5Mismatch: storageXml(
    400,
    'The MD5 value specified in the request did not match with the MD5 value calculated by the server.',
  ),
  MediaTypeNotSupported: format(415, 'The requested media type is not supported.'),
  MessageNotFound: storageXml(404, 'The specified message does not exist.'),
  MessageTooLarge: storageXml(400, 'The message exceeds the maximum allowed size.'),
  MetadataTooLarge: storageXml(
    400,
    'The metadata specified exceeds the maximum permissible limit (8KB).',
  ),
  MethodNotAllowed: validation(
    405,
    'The requested method is not allowed on the specified resource.',
  ),
  MissingContentLengthHeader: frontDoor(411, 'Content-Length HTTP header is missing.'),
  MissingRequiredHeader: validation(
    400,
    "An HTTP header that's mandatory for this request is not specified.",
  ),
  MissingRequiredQueryParameter: storageXml(
    400,
    "A query parameter that's mandatory for this request is not specified.",
  ),
  MissingRequiredXmlNode: frontDoor(
    400,
    'A required XML node was not specified in the request body.',
  ),
  /** No credentials. The table service uses its code for a malformed header. */
  NoAuthenticationInformation: {
    ...frontDoor(
      401,
      'Server failed to authenticate the request. Please refer to the information in the www-authenticate header.',
    ),
    tableCode: 'InvalidAuthenticationInfo',
  },
  NotImplemented: validation(
    501,
    'The requested operation is not implemented on the specified resource.',
  ),
  OperationTimedOut: storage(500, 'Operation could not be completed within the specified time.'),
  OutOfRangeInput: validation(400, 'One of the request inputs is out of range.'),
  OutOfRangeQueryParameterValue: storageXml(
    400,
    'One of the query parameters specified in the request URI is outside the permissible range.',
  ),
  PopReceiptMismatch: storageXml(
    400,
    'The specified pop receipt did not match the pop receipt for a dequeued message.',
  ),
  PropertiesNeedValue: operation(
    400,
    'The values are not specified for all properties in the entity.',
  ),
  PropertyNameInvalid: operation(400, 'The property name is invalid.'),
  PropertyNameTooLong: operation(
    400,
    'The property name exceeds the maximum allowed length (255).',
  ),
  PropertyValueTooLarge: storage(
    400,
    'The property value exceeds the maximum allowed size (64KB). If the property value is a string, it is UTF-16 encoded and the maximum number of characters should be 32K or less.',
  ),
  QueueAlreadyExists: storageXml(409, 'The specified queue already exists.'),
  QueueBeingDeleted: storageXml(409, 'The specified queue is being deleted.'),
  QueueDisabled: storageXml(409, 'The specified queue has been disabled by the administrator.'),
  QueueNotEmpty: storageXml(409, 'The specified queue is not empty.'),
  QueueNotFound: storageXml(404, 'The specified queue does not exist.'),
  RequestBodyTooLarge: validation(
    413,
    'The request body is too large and exceeds the maximum permissible limit.',
  ),
  RequestUrlFailedToParse: storageXml(400, 'The url in the request could not be parsed.'),
  ResourceNotFound: storage(404, 'The specified resource does not exist.'),
  ServerBusy: storage(
    503,
    'The server is currently unable to receive requests. Please retry your request.',
  ),
  TableAlreadyExists: storage(409, 'The table specified already exists.'),
  TableBeingDeleted: storage(409, 'The specified table is being deleted. Try operation later.'),
  TableNotFound: validation(404, 'The table specified does not exist.'),
  TooManyProperties: operation(
    400,
    'The entity contains more properties than allowed. Each entity can include up to 252 properties to store data. Each entity also has 3 system properties.',
  ),
  UnsupportedHeader: storageXml(
    400,
    'One of the HTTP headers specified in the request is not supported.',
  ),
  UnsupportedHttpVerb: storageXml(405, "The resource doesn't support specified Http Verb."),
  UnsupportedQueryParameter: storageXml(
    400,
    'One of the query parameters specified in the request URI is not supported.',
  ),
  UnsupportedXmlNode: frontDoor(
    400,
    'One of the XML nodes specified in the request body is not supported.',
  ),
  UpdateConditionNotSatisfied: storage(
    412,
    'The update condition specified in the request was not satisfied.',
  ),
  XMethodIncorrectCount: validation(400, 'More than one X-HTTP-Method is specified.'),
  XMethodIncorrectValue: validation(400, 'The specified X-HTTP-Method is invalid.'),
  XMethodNotUsingPost: validation(
    400,
    'The request uses X-HTTP-Method with an HTTP verb other than POST.',
  ),
} satisfies Record<string, ErrorDefinition>;

export type ErrorCode = keyof typeof errorRegistry;

/** The definition of a code, with one type for all codes. */
export function errorDefinition(code: ErrorCode): ErrorDefinition {
  return errorRegistry[code];
}
