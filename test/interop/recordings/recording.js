import { readFileSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parse } from 'yaml';

/** Recordings of another service that speaks the same protocol, with other answers. */
const ofOtherService = /cosmos|comsos/;

/** The files of a folder that were recorded at the cloud's table service. */
export function recordingFiles(folder) {
  return readdirSync(folder)
    .filter((file) => file.endsWith('.yaml') && !ofOtherService.test(file))
    .sort()
    .map((file) => join(folder, file));
}

/** A request and the cloud's answer to it. */
function interactionOf({ request, response }) {
  const headers = new Map(
    Object.entries(request.headers).map(([name, values]) => [name.toLowerCase(), textOf(values)]),
  );
  const answered = new Map(
    Object.entries(response.headers).map(([name, values]) => [name.toLowerCase(), textOf(values)]),
  );
  const { host, pathname, search } = splitUri(request.uri);
  return {
    method: request.method,
    host,
    path: pathname,
    query: search,
    headers,
    body: bodyOf(request.body),
    answer: {
      status: response.status.code,
      headers: answered,
      body: String(response.body?.string ?? ''),
    },
  };
}

function textOf(values) {
  return Array.isArray(values) ? values.join(', ') : String(values);
}

function bodyOf(body) {
  return body === null || body === undefined ? '' : String(body);
}

/** The parts of a URI as they were sent, which `URL` would write anew. */
function splitUri(uri) {
  const [, host = '', pathname = '/', search = ''] =
    /^https?:\/\/([^/?]+)([^?]*)(?:\?(.*))?$/s.exec(uri) ?? [];
  return { host, pathname: pathname === '' ? '/' : pathname, search };
}

/** The interactions of a file in their order. */
export function readRecording(file) {
  const { interactions } = parse(readFileSync(file, 'utf8'));
  return { name: basename(file, '.yaml'), interactions: interactions.map(interactionOf) };
}
