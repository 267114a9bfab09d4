/** How the failing layer writes its body: OData JSON, front-door XML or OData XML (spec §3.1). */
export type ErrorShape = 'odata-json' | 'front-door-xml' | 'odata-xml';

/**
 * Which layer finds the error inside a changeset (spec §9.5). A validation error always carries the
 * index of its operation, a storage error only when the changeset has more than one.
 */
export type ErrorLayer = 'validation' | 'storage';

export interface ErrorDefinition {
  readonly status: number;
  readonly message: string;
  readonly shape: ErrorShape;
  readonly layer: ErrorLayer;
  /** The code as sent, where two entries share it because they differ in status and message. */
  readonly wireCode?: string;
}

function validation(status: number, message: string): ErrorDefinition {
  return { status, message, shape: 'odata-json', layer: 'validation' };
}

function storage(status: number, message: string): ErrorDefinition {
  return { status, message, shape: 'odata-json', layer: 'storage' };
}

function frontDoor(status: number, message: string): ErrorDefinition {
  return { status, message, shape: 'front-door-xml', layer: 'validation' };
}

function format(status: number, message: string): ErrorDefinition {
  return { status, message, shape: 'odata-xml', layer: 'validation' };
}

/**
 * Every code that the server answers, with its status and message (spec §3.2). The only place where
 * codes are defined; `docs/reference/errors.md` lists the same set, checked by a test.
 */
export const errorRegistry = {
  AtomFormatNotSupported: format(415, 'Atom format is not supported.'),
  AuthenticationFailed: frontDoor(
    403,
    'Server failed to authenticate the request. Make sure the value of Authorization header is formed correctly including the signature.',
  ),
  CommandsInBatchActOnDifferentPartitions: validation(
    400,
    'All commands in a batch must operate on same entity group.',
  ),
  DuplicatePropertiesSpecified: validation(400, 'A property is specified more than one time.'),
  EntityAlreadyExists: storage(409, 'The specified entity already exists.'),
  EntityTooLarge: storage(400, 'The entity is larger than the maximum allowed size (1MB).'),
  HostInformationNotPresent: frontDoor(
    400,
    'The required host information is not present in the request. You must send a non-empty Host header or include the absolute URI in the request line.',
  ),
  InternalError: validation(
    500,
    'Server encountered an internal error. Please try again after some time.',
  ),
  InvalidAuthenticationInfo: frontDoor(
    400,
    'Authentication information is not given in the correct format. Check the value of Authorization header.',
  ),
  InvalidDuplicateRow: validation(
    400,
    'The batch request contains multiple changes with same row key. An entity can appear only once in a batch request.',
  ),
  InvalidHeaderValue: frontDoor(
    400,
    'The value for one of the HTTP headers is not in the correct format.',
  ),
  InvalidInput: validation(400, 'One of the request inputs is not valid.'),
  InvalidQueryParameterValue: frontDoor(
    400,
    'Value for one of the query parameters specified in the request URI is invalid.',
  ),
  InvalidResourceName: validation(400, 'The specifed resource name contains invalid characters.'),
  JsonFormatNotSupported: format(415, 'JSON format is not supported.'),
  JsonVerboseFormatNotSupported: format(415, 'JSON verbose format is not supported.'),
  MediaTypeNotSupported: format(415, 'The requested media type is not supported.'),
  MethodNotAllowed: validation(
    405,
    'The requested method is not allowed on the specified resource.',
  ),
  MissingContentLengthHeader: frontDoor(411, 'Content-Length HTTP header is missing.'),
  MissingRequiredHeader: validation(
    400,
    "An HTTP header that's mandatory for this request is not specified.",
  ),
  /** No credentials at all. The same code as a malformed header has, with another status. */
  NoAuthenticationInformation: {
    ...frontDoor(
      401,
      'Server failed to authenticate the request. Please refer to the information in the www-authenticate header.',
    ),
    wireCode: 'InvalidAuthenticationInfo',
  },
  NotImplemented: validation(
    501,
    'The requested operation is not implemented on the specified resource.',
  ),
  OperationTimedOut: storage(500, 'Operation could not be completed within the specified time.'),
  OutOfRangeInput: validation(400, 'One of the request inputs is out of range.'),
  PropertiesNeedValue: validation(
    400,
    'The values are not specified for all properties in the entity.',
  ),
  PropertyNameInvalid: validation(400, 'The property name is invalid.'),
  PropertyNameTooLong: validation(
    400,
    'The property name exceeds the maximum allowed length (255).',
  ),
  PropertyValueTooLarge: storage(
    400,
    'The property value exceeds the maximum allowed size (64KB). If the property value is a string, it is UTF-16 encoded and the maximum number of characters should be 32K or less.',
  ),
  RequestBodyTooLarge: validation(
    413,
    'The request body is too large and exceeds the maximum permissible limit.',
  ),
  ResourceNotFound: storage(404, 'The specified resource does not exist.'),
  ServerBusy: storage(
    503,
    'The server is currently unable to receive requests. Please retry your request.',
  ),
  TableAlreadyExists: storage(409, 'The table specified already exists.'),
  TableBeingDeleted: storage(409, 'The specified table is being deleted. Try operation later.'),
  TableNotFound: validation(404, 'The table specified does not exist.'),
  TooManyProperties: validation(
    400,
    'The entity contains more properties than allowed. Each entity can include up to 252 properties to store data. Each entity also has 3 system properties.',
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

/** The definition of a code, typed alike for all codes. */
export function errorDefinition(code: ErrorCode): ErrorDefinition {
  return errorRegistry[code];
}
