// A strict reader of the lines of Storage Analytics logs, written from their description alone
// (blob-service §21.3, §21.4).

/** The names of the fields, in order. */
export const logFields = (
  'version startTime operation status httpStatus endToEndMs serverMs authentication requester ' +
  'owner service url objectKey requestId operationIndex client protocolVersion ' +
  'requestHeadBytes requestBodyBytes responseHeadBytes responseBodyBytes contentLength ' +
  'requestMd5 serverMd5 etag lastModified conditions userAgent referrer clientRequestId'
).split(' ');

const bearerFields =
  'objectId tenantId applicationId audience issuer userPrincipalName reserved authorization'.split(
    ' ',
  );

const quotedFields = new Set(
  (
    'url objectKey requestMd5 serverMd5 etag conditions userAgent referrer clientRequestId ' +
    'objectId tenantId applicationId audience issuer userPrincipalName authorization'
  ).split(' '),
);

const numbers =
  /^(endToEndMs|serverMs|operationIndex|requestHeadBytes|requestBodyBytes|response.*Bytes|contentLength)$/;

export type LogFields = Readonly<Record<string, string>>;

/** The fields of each line, decoded. Throws when a line breaks a rule. */
export function parseLog(text: string): LogFields[] {
  if (text === '') return [];
  if (!text.endsWith('\n')) throw new Error('the last line does not end');
  return text.slice(0, -1).split('\n').map(parseLine);
}

function parseLine(line: string): LogFields {
  // oxlint-disable-next-line no-control-regex -- no line may have one
  if (/[\u0000-\u001f]/.test(line)) throw new Error('a control character in a line');
  const fields = splitFields(line);
  const names = fields[0] === '2.0' ? [...logFields, ...bearerFields] : logFields;
  if (fields[0] !== '1.0' && fields[0] !== '2.0') throw new Error(`version ${fields[0]}`);
  if (fields.length !== names.length) throw new Error(`${fields.length} fields: ${line}`);
  return Object.fromEntries(names.map((name, at) => [name, decodeField(name, fields[at] ?? '')]));
}

function splitFields(line: string): string[] {
  const fields: string[] = [];
  let at = 0;
  for (;;) {
    const isQuoted = line[at] === '"';
    const end = isQuoted ? line.indexOf('"', at + 1) + 1 : endOfPlain(line, at);
    if (end === 0) throw new Error(`a quote is not closed: ${line}`);
    fields.push(line.slice(at, end));
    if (end === line.length) return fields;
    if (line[end] !== ';') throw new Error(`no semicolon behind a field: ${line.slice(at)}`);
    at = end + 1;
  }
}

function endOfPlain(line: string, at: number): number {
  const end = line.indexOf(';', at);
  return end < 0 ? line.length : end;
}

function decodeField(name: string, field: string): string {
  if (!quotedFields.has(name)) {
    if (field.includes('"')) throw new Error(`a quote in ${name}: ${field}`);
    if (numbers.test(name) && !/^\d*$/.test(field)) throw new Error(`${name} is ${field}`);
    return field;
  }
  if (field === '') return '';
  if (!/^"[^"<>]+"$/.test(field)) throw new Error(`${name} is ${field}`);
  return decodeHtml(field.slice(1, -1));
}

const named: Readonly<Record<string, string>> = { amp: '&', quot: '"', lt: '<', gt: '>' };

function decodeHtml(text: string): string {
  return text.replaceAll(/&(?:#(\d+);|(\w+);)?/g, (all, code?: string, name?: string) => {
    if (code !== undefined) return String.fromCharCode(Number(code));
    const character = name === undefined ? undefined : named[name];
    if (character === undefined) throw new Error(`an ampersand that is not encoded: ${all}`);
    return character;
  });
}
